/**
 * Decodes submitted groups into the store's form: JSON of the original's wire format, and the bodies of the versioned
 * endpoints. Bodies that take more than a few milliseconds are decoded on a thread, so that no request waits for
 * another's large submission. A body that needs more memory than the thread has is refused.
 */
import * as ApiError from "@atropos/core/service/api/TrajectoryApiError"
import * as WireGroup from "@atropos/core/service/WireGroup"
import { Effect, Result, type Scope } from "effect"
import * as Thread from "../base/Thread.ts"
import { BodyTooLarge, Limits } from "../http/RequestBody.ts"
import type { Submission } from "../store/TrajectoryStore.ts"
import * as SubmissionForm from "./SubmissionForm.ts"

export type Kind = "one" | "list"

export type Task =
  | { readonly kind: Kind; readonly body: Uint8Array; readonly limits: Limits }
  | { readonly kind: "versioned"; readonly sent: SubmissionForm.Sent; readonly limits: Limits }

export type Reply =
  | { readonly submissions: ReadonlyArray<Submission> }
  | { readonly wireError: Pick<WireGroup.WireError, "reason" | "details"> }
  | { readonly tooLarge: Pick<BodyTooLarge, "what" | "limitBytes"> }
  | { readonly failure: Pick<ApiError.Invalid, "message" | "field"> & Pick<SubmissionForm.Failure, "_tag"> }

export interface GroupReader {
  /** The groups of a body in the original's wire format, ready to be stored. */
  readonly read: (
    kind: Kind,
    body: Uint8Array
  ) => Effect.Effect<ReadonlyArray<Submission>, WireGroup.WireError | BodyTooLarge>
  /** The equivalent for the versioned endpoints. */
  readonly readVersioned: (
    sent: SubmissionForm.Sent
  ) => Effect.Effect<ReadonlyArray<Submission>, SubmissionForm.Failure>
}

/** Larger bodies are decoded on the thread: half a mebibyte takes about 20 milliseconds at worst. */
const atOnceBytes = 512 * 1024

/** The error for a body that exceeds the thread's memory. */
const tooMuch = ({ limitBytes }: Thread.ThreadOutOfMemory) =>
  new BodyTooLarge({ what: "the request body with what it takes to read it", limitBytes })

export const make: Effect.Effect<GroupReader, never, Scope.Scope> = Effect.gen(function* () {
  const limits = yield* Limits
  const ask = yield* Thread.make<Reply>("GroupWorker", import.meta.url)
  // The body's memory belongs to this request, so it is transferred without a copy.
  const elsewhere = (task: Task, { buffer }: Uint8Array) => ask(task, buffer instanceof ArrayBuffer ? [buffer] : [])
  return {
    read: (kind, body) =>
      body.length <= atOnceBytes
        ? Effect.fromResult(readHere(kind, body, limits))
        : elsewhere({ kind, body, limits }, body).pipe(
            Effect.mapError(tooMuch),
            Effect.flatMap((reply): Effect.Effect<ReadonlyArray<Submission>, WireGroup.WireError | BodyTooLarge> => {
              if ("wireError" in reply) return Effect.fail(new WireGroup.WireError(reply.wireError))
              if ("tooLarge" in reply) return Effect.fail(new BodyTooLarge(reply.tooLarge))
              // Other replies do not occur for this task.
              return Effect.succeed("submissions" in reply ? reply.submissions : [])
            })
          ),
    readVersioned: (sent) =>
      sent.body.length <= atOnceBytes
        ? Effect.fromResult(SubmissionForm.read(sent, limits))
        : elsewhere({ kind: "versioned", sent, limits }, sent.body).pipe(
            Effect.mapError((error) => new ApiError.TooLarge({ message: tooMuch(error).message })),
            Effect.flatMap((reply): Effect.Effect<ReadonlyArray<Submission>, SubmissionForm.Failure> => {
              if ("failure" in reply) return Effect.fail(failureOf(reply.failure))
              return Effect.succeed("submissions" in reply ? reply.submissions : [])
            })
          )
  }
})

const failureOf = ({
  _tag,
  ...failure
}: Extract<Reply, { readonly failure: unknown }>["failure"]): SubmissionForm.Failure =>
  _tag === "Invalid"
    ? new ApiError.Invalid(failure)
    : _tag === "TooLarge"
      ? new ApiError.TooLarge(failure)
      : new ApiError.BadRequest(failure)

/** Also used by the thread. */
export const readHere = (
  kind: Kind,
  body: Uint8Array,
  limits: Limits
): Result.Result<ReadonlyArray<Submission>, WireGroup.WireError | BodyTooLarge> =>
  Result.flatMap(
    kind === "list" ? WireGroup.readList(body, limits) : Result.map(WireGroup.read(body, limits), (group) => [group]),
    (received): Result.Result<ReadonlyArray<Submission>, BodyTooLarge> => {
      const index = received.findIndex(({ json }) => json.length > limits.maxGroupBytes)
      return index < 0
        ? Result.succeed(received.map(toSubmission))
        : Result.fail(new BodyTooLarge({ what: `group ${index} of the body`, limitBytes: limits.maxGroupBytes }))
    }
  )

const maxEnvId = 0x7fff_ffff

const toSubmission = ({ envId, hasMessages, json, scores, sequences, tokens }: WireGroup.Received): Submission => ({
  key: null,
  sequences,
  tokens,
  scores,
  // Invalid environment ids: the group is queued without an environment, its payload is unchanged.
  envId: envId !== null && envId >= 0 && envId <= maxEnvId ? envId : null,
  policyStep: null,
  hasMessages,
  payload: { format: "json", bytes: json }
})
