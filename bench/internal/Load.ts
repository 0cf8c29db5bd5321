/**
 * Generates load on one URL over keep-alive connections: a bounded number of requests, or a bounded time, whichever
 * ends first.
 *
 * Loopback only. Speaks HTTP over bare sockets, the same to every server, because Node's client uses as much processor
 * time for a response of a megabyte as a server does, which would be measured too on a shared machine. Responses must
 * state their length. Every response's status is checked, so that refusals do not count as throughput.
 */
import { connect, type Socket } from "node:net"
import { performance } from "node:perf_hooks"

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers?: Record<string, string>
  /** In parts if they are sent one after the other. */
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
  readonly headers: Record<string, string>
  /** The beginning, enough for any response that is read; a large one is received whole and counted, but not kept. */
  readonly body: Buffer
  /** Length of the whole body. */
  readonly bytes: number
}

const keptBytes = 256 * 1024
const headEnd = Buffer.from("\r\n\r\n")

interface Pending {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

/** One connection, one request at a time. */
class Connection {
  isOpen = true
  /** True if any part of the response to the last request has arrived. */
  hasAnswered = false
  private readonly socket: Socket
  private pending: Pending | undefined
  private head: Buffer = Buffer.alloc(0)
  private answer: { status: number; headers: Record<string, string>; length: number } | undefined
  private kept: Array<Buffer> = []
  private received = 0

  constructor(port: number) {
    this.socket = connect({
      host: "127.0.0.1",
      port,
      noDelay: true,
      // Read into the same memory each time, so that discarded data is never copied.
      onread: {
        buffer: Buffer.allocUnsafe(256 * 1024),
        callback: (length, memory) => {
          this.read(Buffer.from(memory.buffer, memory.byteOffset, length))
          return true
        }
      }
    })
    const broken = (error?: Error) => {
      this.isOpen = false
      this.pending?.reject(error ?? new Error("the server closed the connection"))
      this.pending = undefined
    }
    this.socket.on("error", broken).on("close", () => broken())
  }

  send({ body, headers, method, path }: Request): Promise<Answer> {
    const parts = body === undefined ? [] : body instanceof Uint8Array ? [body] : body
    const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`)
    if (body !== undefined) lines.push(`content-length: ${parts.reduce((sum, part) => sum + part.length, 0)}\r\n`)
    this.hasAnswered = false
    return new Promise((resolve, reject) => {
      this.pending = { resolve, reject }
      this.socket.cork()
      this.socket.write(`${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join("")}\r\n`, "latin1")
      for (const part of parts) this.socket.write(part)
      this.socket.uncork()
    })
  }

  close(): void {
    this.isOpen = false
    this.socket.destroy()
  }

  private read(bytes: Buffer): void {
    this.hasAnswered = true
    if (this.answer === undefined) {
      const seen = this.head.length === 0 ? bytes : Buffer.concat([this.head, bytes])
      const end = seen.indexOf(headEnd)
      if (end < 0) {
        this.head = Buffer.from(seen)
        return
      }
      this.head = Buffer.alloc(0)
      this.answer = readHead(seen.toString("latin1", 0, end))
      this.take(seen.subarray(end + headEnd.length))
    } else {
      this.take(bytes)
    }
    const { answer, kept, pending, received } = this
    if (answer === undefined || received < answer.length) return
    this.answer = undefined
    this.kept = []
    this.received = 0
    this.pending = undefined
    pending?.resolve({ status: answer.status, headers: answer.headers, body: Buffer.concat(kept), bytes: received })
  }

  private take(bytes: Buffer): void {
    if (this.received < keptBytes) this.kept.push(Buffer.from(bytes))
    this.received += bytes.length
  }
}

const readHead = (text: string) => {
  const [first, ...lines] = text.split("\r\n")
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()])
  )
  const status = Number(first?.split(" ")[1])
  const length = status === 204 ? 0 : Number(headers["content-length"])
  if (!Number.isInteger(length)) throw new Error(`the answer does not tell its length: ${text}`)
  return { status, headers, length }
}

/** Connections kept open between requests. */
export class Pool {
  private readonly idle = new Map<number, Array<Connection>>()

  async send(port: number, request: Request): Promise<Answer> {
    const idle = this.idle.get(port) ?? []
    this.idle.set(port, idle)
    let connection = idle.pop()
    while (connection !== undefined && !connection.isOpen) connection = idle.pop()
    const fresh = connection === undefined
    connection ??= new Connection(port)
    const answer = await connection.send(request).catch((error: unknown) => {
      // The server may have closed an idle connection just as it was used: without any response, retry once.
      if (fresh || connection?.hasAnswered !== false) throw error
      connection = new Connection(port)
      return connection.send(request)
    })
    if (answer.headers["connection"] === "close") connection.close()
    else idle.push(connection)
    return answer
  }

  destroy(): void {
    for (const connections of this.idle.values()) for (const connection of connections) connection.close()
    this.idle.clear()
  }
}

export const send = (port: number, request: Request, pool: Pool): Promise<Answer> => pool.send(port, request)

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
  const agent = new Pool()
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
