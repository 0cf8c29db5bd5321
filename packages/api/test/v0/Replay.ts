/**
 * Replays recorded requests against our endpoints and reports where the responses differ from the original's.
 *
 * Three differences are intended, and compared accordingly (Q: docs/protocol.md): batches come oldest first (Q 2), so
 * the delivered ones are compared as a set of groups whenever the original has nothing left (its `null` reply); a step
 * counts a delivered batch, not a formed one (Q 3), so steps are compared with the number of batches we delivered; and
 * random numbers may be any numbers.
 */
import * as Predicate from "effect/Predicate"
import { request } from "node:http"

export interface Step {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly status: number
  readonly response: unknown
}

export interface Transcript {
  readonly name: string
  readonly steps: ReadonlyArray<Step>
}

export interface Answer {
  readonly status: number
  readonly response: unknown
}

/** Sends one request; bodies on GET too, as the original's environments do. */
export const send = (port: number, prefix: string, { body, method, path }: Pick<Step, "method" | "path" | "body">) =>
  new Promise<Answer>((resolve, reject) => {
    const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const headers = text === undefined ? {} : { "content-type": "application/json", "content-length": text.length }
    const outgoing = request(
      { host: "127.0.0.1", port, method, path: prefix + path, headers, agent: false },
      (incoming) => {
        const chunks: Array<Buffer> = []
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
        incoming.on("error", reject)
        incoming.on("end", () => {
          const content = Buffer.concat(chunks).toString()
          const isJson = incoming.headers["content-type"]?.startsWith("application/json") ?? false
          resolve({ status: incoming.statusCode ?? 0, response: isJson ? JSON.parse(content) : content })
        })
      }
    )
    outgoing.on("error", reject)
    outgoing.end(text)
  })

/** JSON with sorted keys: equal texts are equal values. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    Predicate.isReadonlyObject(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner
  )

/** Our responses where the original fails: numbers if it divides by zero (Q 13), 404 for an unknown environment. */
const mended: ReadonlyArray<number> = [200, 404]

const stepKeys: { readonly [path: string]: string } = {
  "/status": "current_step",
  "/status-env": "current_step",
  "/register-env": "starting_step"
}

/** Sizes that exclude batches the original has formed but not delivered yet. */
const queueKeys: ReadonlyArray<string> = ["queue_size", "self_queue_size", "max_group_size"]

/** Compares responses of one sequence, in order. */
export class Comparison {
  readonly differences: Array<string> = []
  private startingStep = 0
  /** Batches that we delivered, and those that the original did. */
  private handedOut = 0
  private recorded = 0
  private isRegistered = false
  private theirs: Array<string> = []
  private ours: Array<string> = []

  step(index: number, step: Step, answer: Answer): void {
    const differ = (what: string) => this.differences.push(`step ${index} ${step.method} ${step.path}: ${what}`)
    if (step.status === 500 && mended.includes(answer.status)) return
    if (answer.status !== step.status) {
      differ(`status ${answer.status}, recorded ${step.status}: ${canonical(answer.response).slice(0, 300)}`)
      return
    }
    if (step.path === "/register" && step.status === 200) this.registered(step)
    if (step.path === "/reset_data") this.reset()
    if (step.path === "/batch" && step.status === 200) {
      this.batch(step, answer, differ)
      return
    }
    const expected = this.expected(step, answer)
    const found = step.path === "/register" ? { ...Object(answer.response), uuid: "<int>" } : answer.response
    const recorded =
      step.path === "/register" && Predicate.isReadonlyObject(expected) ? { ...expected, uuid: "<int>" } : expected
    if (canonical(found) !== canonical(recorded)) differ(`${canonical(found)}, recorded ${canonical(recorded)}`)
  }

  private registered({ body }: Step): void {
    if (this.isRegistered || !Predicate.isReadonlyObject(body)) return
    this.isRegistered = true
    this.startingStep = Number(body["starting_step"])
    this.handedOut = 0
    this.recorded = 0
  }

  private reset(): void {
    this.isRegistered = false
    this.startingStep = 0
    this.handedOut = 0
    this.recorded = 0
    this.theirs = []
    this.ours = []
  }

  /**
   * The recorded reply, with its step as we count it, and our queue sizes while the original has batches formed but not
   * delivered.
   */
  private expected({ path, response }: Step, answer: Answer): unknown {
    const key = stepKeys[path]
    if (key === undefined || !Predicate.isReadonlyObject(response) || response[key] === undefined) return response
    const expected: { [key: string]: unknown } = { ...response, [key]: this.startingStep + this.handedOut }
    const waiting = Number(response[key]) - this.startingStep - this.recorded
    if (waiting > 0 && Predicate.isReadonlyObject(answer.response)) {
      for (const size of queueKeys) {
        const ours = answer.response[size]
        if (Number(ours) >= Number(expected[size])) expected[size] = ours
      }
    }
    return expected
  }

  private batch(step: Step, answer: Answer, differ: (what: string) => void): void {
    const theirs = Predicate.isReadonlyObject(step.response) ? step.response["batch"] : undefined
    const ours = Predicate.isReadonlyObject(answer.response) ? answer.response["batch"] : undefined
    if (Array.isArray(ours) && ours.length > 0) {
      this.handedOut++
      this.ours.push(...ours.map(canonical))
    }
    if (Array.isArray(theirs) && theirs.length > 0) {
      this.recorded++
      this.theirs.push(...theirs.map(canonical))
    }
    if (Array.isArray(theirs) !== Array.isArray(ours)) {
      differ(`${ours === null ? "null" : "a batch"}, recorded ${theirs === null ? "null" : "a batch"}`)
    } else if (theirs === null) {
      if (this.ours.toSorted().join() !== this.theirs.toSorted().join()) {
        differ(`served other groups since the last null: ${brief(this.ours)}, recorded ${brief(this.theirs)}`)
      }
      this.ours = []
      this.theirs = []
    } else if (
      Array.isArray(theirs) &&
      theirs.length === 0 &&
      canonical(step.response) !== canonical(answer.response)
    ) {
      differ(`${canonical(answer.response)}, recorded ${canonical(step.response)}`)
    }
  }
}

const brief = (groups: ReadonlyArray<string>) =>
  groups.map((group) => /"tokens":(\[\[\d+)/.exec(group)?.[1]?.slice(2) ?? "?").join(" ")
