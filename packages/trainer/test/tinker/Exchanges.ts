/**
 * What the official Python client (tinker 0.25.0 and 0.38.0) and a SkyRL server (a9564572e, JAX on a CPU) said to each
 * other: each exchange with its bodies, in order.
 */
import { readFileSync } from "node:fs"

export interface Body {
  readonly json?: unknown
  readonly base64?: string
}

export interface Exchange {
  readonly sdk: string
  readonly method: string
  readonly path: string
  readonly request: Body & {
    readonly accept?: "binary"
    /** What the future of a poll comes from: `OptimStep`, `Sample`, … */
    readonly operation?: string
  }
  readonly response: Body & { readonly status: number }
}

const file = new URL("../fixtures/tinker/exchanges.jsonl", import.meta.url)

export const exchanges: ReadonlyArray<Exchange> = readFileSync(file, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Exchange)

export const bytesOf = ({ base64 }: Body): Uint8Array => new Uint8Array(Buffer.from(base64 ?? "", "base64"))
