/** Training state: `trainer.json` of a checkpoint. */
import { Effect, Schema } from "effect"

/** A batch that was trained on. The id alone is not unique: another database may use the same numbers. */
export const Consumed = Schema.Struct({ id: Schema.String, step: Schema.Int })
export type Consumed = typeof Consumed.Type

/** Number of consumed batches to remember: far more than a service can have unacknowledged. */
export const remembered = 1000

export const TrainerState = Schema.Struct({
  /** In version 1 the steps of batches counted the steps before them. */
  version: Schema.Literals([1, 2]),
  /** Batches consumed, including skipped steps. */
  step: Schema.Natural,
  /** Number of steps that changed the weights: the version of these weights. */
  policyVersion: Schema.Natural,
  /** Batches whose step was skipped, since the start of the run. */
  skipped: Schema.Natural,
  /** Steps with a NaN or infinite loss or gradient since the last good step. */
  nonFiniteInARow: Schema.Natural,
  /** The newest batches, oldest first. */
  consumed: Schema.Array(Consumed),
  /** Step that the service gives the batch after the newest one; null before the first. */
  nextBatchStep: Schema.NullOr(Schema.Int),
  /** The engine's copy of weights and optimizer; earlier versions only had the local engine, and omitted this. */
  weights: Schema.Struct({ engine: Schema.String, path: Schema.String }).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed({ engine: "local", path: "trainer_state.safetensors" }))
  ),
  model: Schema.String,
  seed: Schema.Natural,
  /** The effective settings, as in a YAML file. */
  settings: Schema.Record(Schema.String, Schema.Unknown)
}).pipe(
  Schema.encodeKeys({
    policyVersion: "policy_version",
    nonFiniteInARow: "non_finite_in_a_row",
    nextBatchStep: "next_batch_step"
  })
)
export type TrainerState = typeof TrainerState.Type

const codec = Schema.fromJsonString(TrainerState)

const renewed = (state: TrainerState): TrainerState =>
  state.version === 2
    ? state
    : {
        ...state,
        version: 2,
        consumed: state.consumed.map(({ id, step }) => ({ id, step: step + 1 })),
        nextBatchStep: state.nextBatchStep === null ? null : state.nextBatchStep + 1
      }

const read = Schema.decodeUnknownEffect(codec)
export const decode = (text: unknown) => Effect.map(read(text), renewed)
export const encode = Schema.encodeEffect(codec)
