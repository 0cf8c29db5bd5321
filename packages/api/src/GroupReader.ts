/**
 * Reads submitted groups (JSON of the original's wire) into what the store takes.
 *
 * Bodies are read at once where that takes a few milliseconds, and on a thread of their own above that, so that nobody waits for
 * somebody else's large submission.
 */
import { WireGroup } from "@atropos/core"
import { Effect, Result, type Scope } from "effect"
import * as Thread from "./internal/Thread.ts"
import { BodyTooLarge, Limits } from "./RequestBody.ts"
import type { Submission } from "./TrajectoryStore.ts"

export type Kind = "one" | "list"

/** What goes to the thread. */
export interface Task {
  readonly kind: Kind
  readonly body: Uint8Array
  readonly limits: Limits
}

/** What the thread answers. */
export type Reply =
  | { readonly groups: ReadonlyArray<WireGroup.Received> }
  | {
      readonly reason: WireGroup.WireError["reason"]
      readonly details: ReadonlyArray<unknown>
    }

export interface GroupReader {
  /** The groups of a body, ready to be stored. */
  readonly read: (
    kind: Kind,
    body: Uint8Array
  ) => Effect.Effect<ReadonlyArray<Submission>, WireGroup.WireError | BodyTooLarge>
}

/** Larger bodies are read on the thread: 4 MiB take some 20 milliseconds. */
const atOnceBytes = 4 * 1024 * 1024

export const make: Effect.Effect<GroupReader, never, Scope.Scope> = Effect.gen(function* () {
  const limits = yield* Limits
  const ask: (task: Task, transfer: ReadonlyArray<ArrayBuffer>) => Effect.Effect<Reply> =
    yield* Thread.make<Reply>("groupWorker")
  const readElsewhere = (kind: Kind, body: Uint8Array) =>
    // The body is this request's own memory: it moves to the thread without a copy.
    Effect.flatMap(
      ask({ kind, body, limits }, body.buffer instanceof ArrayBuffer ? [body.buffer] : []),
      (reply): Effect.Effect<ReadonlyArray<WireGroup.Received>, WireGroup.WireError> =>
        "groups" in reply
          ? Effect.succeed(reply.groups)
          : Effect.fail(new WireGroup.WireError({ reason: reply.reason, details: reply.details }))
    )
  return {
    read: (kind, body) => {
      const groups =
        body.length <= atOnceBytes ? Effect.fromResult(readHere(kind, body, limits)) : readElsewhere(kind, body)
      return Effect.flatMap(groups, (received) => {
        const index = received.findIndex(({ json }) => json.length > limits.maxGroupBytes)
        return index < 0
          ? Effect.succeed(received.map(toSubmission))
          : Effect.fail(new BodyTooLarge({ what: `group ${index} of the body`, limitBytes: limits.maxGroupBytes }))
      })
    }
  }
})

/** Also what the thread does. */
export const readHere = (
  kind: Kind,
  body: Uint8Array,
  limits: Limits
): Result.Result<ReadonlyArray<WireGroup.Received>, WireGroup.WireError> =>
  kind === "list" ? WireGroup.readList(body, limits) : Result.map(WireGroup.read(body, limits), (group) => [group])

const maxEnvId = 0x7fff_ffff

const toSubmission = ({ envId, hasMessages, json, scores, sequences, tokens }: WireGroup.Received): Submission => ({
  key: null,
  sequences,
  tokens,
  scores,
  // No environment has such an id: the group is queued as one of nobody's, its payload keeps what was sent.
  envId: envId !== null && envId >= 0 && envId <= maxEnvId ? envId : null,
  policyStep: null,
  hasMessages,
  payload: { format: "json", bytes: json }
})
