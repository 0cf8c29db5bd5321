/**
 * Sends the texts of token ids for the token view: each id once per run, before the first group that contains it.
 *
 * Cannot fail, and delays sending by at most `timeout`: missing texts are sent with the next group that has the token,
 * and failures are counted. Decoding yields to other fibers.
 *
 * A piece is the text that its token adds, so that pieces can be concatenated: a token is decoded in second position,
 * because some tokenizers strip the leading space of a text.
 */
import { Effect, Result } from "effect"
import * as Reason from "../../base/Reason.ts"
import type { ScoredGroup } from "../../trajectory/ScoredGroup.ts"
import type { TokenizerShape } from "../../inference/tokenizer/Tokenizer.ts"
import type { Telemetry } from "../../service/TelemetryClient.ts"
import type { Registration } from "../../service/TrajectoryApi.ts"

export interface TokenPieces {
  /** Sends the run's missing texts of these groups' tokens. */
  readonly report: (groups: ReadonlyArray<ScoredGroup>) => Effect.Effect<void>
  readonly failures: () => number
}

const timeout = "5 seconds"
const idsPerRequest = 4096
/** Ids decoded per turn of the event loop: two decodings each, a few milliseconds. */
const idsPerTurn = 64
/** Larger than any vocabulary; ids beyond it are invalid. */
const maxId = 2 ** 24
/** The service's limit. */
const maxPieceLength = 1024

/** The text that the token adds. */
export const pieceOf = ({ decode }: Pick<TokenizerShape, "decode">, id: number): string => {
  const alone = decode([id])
  const twice = decode([id, id])
  const piece = twice.startsWith(alone) && twice.length > alone.length ? twice.slice(alone.length) : alone
  return piece.slice(0, maxPieceLength)
}

/** Sends to the service of `telemetry`; `registration` changes if the run may have changed. */
export const make = (options: {
  readonly telemetry: Pick<Telemetry, "recordPieces">
  readonly tokenizer: Pick<TokenizerShape, "decode">
  readonly registration: () => Registration
}): TokenPieces => {
  const { registration, telemetry, tokenizer } = options
  let sent = new Set<number>()
  let toldTo: Registration | undefined
  let failures = 0

  const note = (cause: unknown) => {
    failures++
    return (failures === 1 ? Effect.logWarning : Effect.logDebug)(
      "token texts could not be sent to the service; retrying with the next groups",
      { reason: Reason.of(cause) }
    )
  }

  const unsent = (groups: ReadonlyArray<ScoredGroup>): ReadonlyArray<number> => {
    const ids = new Set<number>()
    for (const { tokens } of groups) {
      for (const sequence of tokens) {
        for (let t = 0; t < sequence.length; t++) {
          const id = sequence[t]!
          if (!sent.has(id) && id <= maxId) ids.add(id)
        }
      }
    }
    return [...ids]
  }

  const decoded = Effect.fnUntraced(function* (ids: ReadonlyArray<number>) {
    const pieces = new Map<number, string>()
    for (const [index, id] of ids.entries()) {
      if (index > 0 && index % idsPerTurn === 0) yield* Effect.yieldNow
      // An id unknown to the tokenizer has no text.
      const piece = Result.try(() => pieceOf(tokenizer, id))
      if (Result.isSuccess(piece)) pieces.set(id, piece.success)
    }
    return pieces
  })

  return {
    failures: () => failures,
    report: Effect.fnUntraced(
      function* (groups: ReadonlyArray<ScoredGroup>) {
        const current = registration()
        if (toldTo !== current) {
          sent = new Set()
          toldTo = current
        }
        const ids = unsent(groups)
        for (let from = 0; from < ids.length; from += idsPerRequest) {
          const portion = ids.slice(from, from + idsPerRequest)
          yield* telemetry.recordPieces(yield* decoded(portion))
          for (const id of portion) sent.add(id)
        }
      },
      Effect.timeout(timeout),
      Effect.catch(note),
      Effect.catchDefect(note)
    )
  }
}
