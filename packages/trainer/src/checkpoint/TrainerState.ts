/** Where training stands: `trainer.json` of a checkpoint. */
import { Effect, Schema } from "effect"

/** A batch that was trained on. Its id alone does not tell: another database may count from the same number. */
export const Consumed = Schema.Struct({ id: Schema.String, step: Schema.Int })
export type Consumed = typeof Consumed.Type

/** How many consumed batches are remembered: far more than a service can have forgotten the acknowledgement of. */
export const remembered = 1000

export const TrainerState = Schema.Struct({
  /** In version 1 the steps of batches counted the steps before them. */
  version: Schema.Literals([1, 2]),
  /** Batches consumed, steps that were skipped included. */
  step: Schema.Natural,
  /** Steps that changed the weights: the version of these weights. */
  policyVersion: Schema.Natural,
  /** Batches whose step was skipped, since the run began. */
  skipped: Schema.Natural,
  /** Skipped for a number that is not finite, without a good step since. */
  nonFiniteInARow: Schema.Natural,
  /** The newest batches, oldest first. */
  consumed: Schema.Array(Consumed),
  /** Step the service gives the batch after the newest one; null before the first. */
  nextBatchStep: Schema.NullOr(Schema.Int),
  /** The engine's copy of weights and optimizer; earlier versions had the local engine alone, and did not say. */
  weights: Schema.Struct({ engine: Schema.String, path: Schema.String }).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed({ engine: "local", path: "trainer_state.safetensors" }))
  ),
  /** Model the parameters belong to. */
  model: Schema.String,
  seed: Schema.Natural,
  /** The settings in force, as a YAML file has them. */
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

/** As if it had been written in the newest version. */
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
