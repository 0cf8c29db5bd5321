/**
 * Load on one URL over keep-alive connections: a bounded number of requests, or a bounded time, whichever ends first.
 *
 * Loopback only. Every answer's status is checked: a rate of refusals is no rate.
 */
import { Agent, request } from "node:http"
import { performance } from "node:perf_hooks"

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers?: Record<string, string>
  /** In parts, where they are sent one after the other. */
  readonly body?: Uint8Array | ReadonlyArray<Uint8Array>
}

export interface LoadResult {
  readonly requests: number
  readonly seconds: number
  readonly perSecond: number
  readonly p50Millis: number
  readonly p99Millis: number
}

export interface Answer {
  readonly status: number
  readonly headers: Record<string, string | Array<string> | undefined>
  /** The beginning, enough for any answer that is read; a large one is received whole, counted and not kept. */
  readonly body: Buffer
  /** Length of the whole body. */
  readonly bytes: number
}

const keptBytes = 256 * 1024

export const send = (port: number, { body, headers, method, path }: Request, agent: Agent): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const parts = body === undefined ? [] : body instanceof Uint8Array ? [body] : body
    const bytes = parts.reduce((sum, part) => sum + part.length, 0)
    const length = body === undefined ? {} : { "content-length": String(bytes) }
    const outgoing = request(
      { host: "127.0.0.1", port, method, path, agent, headers: { ...headers, ...length } },
      (incoming) => {
        const chunks: Array<Buffer> = []
        let bytes = 0
        incoming.on("data", (chunk: Buffer) => {
          if (bytes < keptBytes) chunks.push(chunk)
          bytes += chunk.length
        })
        incoming.on("end", () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(chunks), bytes })
        )
        incoming.on("error", reject)
      }
    )
    outgoing.on("error", reject)
    outgoing.cork()
    for (const part of parts) outgoing.write(part)
    outgoing.end()
  })

/** Sends `next()` over `connections` connections until `requests` are done or `seconds` have passed. */
export const run = async (
  port: number,
  {
    accept = (answer) => answer.status === 200,
    connections,
    next,
    requests,
    seconds
  }: {
    readonly connections: number
    readonly requests: number
    readonly seconds: number
    readonly next: (index: number) => Request
    readonly accept?: (answer: Answer) => boolean
  }
): Promise<LoadResult> => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const latencies: Array<number> = []
  const start = performance.now()
  const deadline = start + seconds * 1000
  let sent = 0
  const worker = async () => {
    while (sent < requests && performance.now() < deadline) {
      const index = sent++
      const asked = next(index)
      const before = performance.now()
      const answer = await send(port, asked, agent)
      latencies.push(performance.now() - before)
      if (!accept(answer)) {
        throw new Error(`${asked.method} ${asked.path}: ${answer.status} ${answer.body.toString("utf8", 0, 300)}`)
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  agent.destroy()
  const elapsed = (performance.now() - start) / 1000
  latencies.sort((a, b) => a - b)
  const quantile = (q: number) => latencies[Math.min(latencies.length - 1, Math.floor(q * latencies.length))] ?? 0
  return {
    requests: latencies.length,
    seconds: elapsed,
    perSecond: latencies.length / elapsed,
    p50Millis: quantile(0.5),
    p99Millis: quantile(0.99)
  }
}
