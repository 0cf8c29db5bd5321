/**
 * What every environment can be told, with the original's names, defaults and meaning (atroposlib/envs/base.py,
 * BaseEnvConfig).
 *
 * One declaration gives the defaults, the `--env.<field>` flags, the YAML keys, `--help` and the validation errors.
 * Inside, names are camelCase; on the command line and in files they are the original's snake_case.
 */
import { Effect, Schema, String } from "effect"

/** A field with a default and a description; the default is shown by `--help`. */
export const field = <S extends Schema.Top & Schema.Codec<unknown, unknown>>(
  schema: S,
  fallback: S["Type"] & S["Encoded"],
  description: string
) => schema.annotate({ description, default: fallback }).pipe(Schema.withDecodingDefaultKey(Effect.succeed(fallback)))

const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const commonFields = {
  groupSize: field(positive, 4, "rollouts per item, and the group size announced to the service"),
  maxNumWorkers: field(
    Schema.Int,
    -1,
    "items rolled out at once; -1: max_num_workers_per_node x number of inference servers"
  ),
  maxNumWorkersPerNode: field(positive, 8, "items rolled out at once per inference server"),
  maxEvalWorkers: field(positive, 16, "items evaluated at once"),
  stepsPerEval: field(Schema.Int, 100, "trainer steps between evaluations; 0 or less: never"),
  evalHandling: field(
    Schema.Literals(["STOP_TRAIN", "LIMIT_TRAIN", "NONE"]),
    "STOP_TRAIN",
    "what training rollouts do during an evaluation: wait, run at eval_limit_ratio, or go on"
  ),
  evalLimitRatio: field(Schema.Finite, 0.5, "share of the workers left to training under LIMIT_TRAIN"),
  maxTokenLength: field(
    positive,
    2048,
    "longest generation, tokens; less where the prompt leaves less of the trainer's seq_len"
  ),
  inferenceWeight: field(
    Schema.Finite,
    1,
    "weight among environments: share of the batches within one program, of the inference servers between programs"
  ),
  batchSize: field(Schema.Int, -1, "sequences per batch where the service does not say; what it says wins"),
  maxBatchesOffpolicy: field(
    Schema.Int,
    3,
    "batches that may lie in the queue before new rollouts wait; 0: roll out only while the queue is empty"
  ),
  minBatchAllocation: field(
    Schema.NullOr(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
    null,
    "share of every batch reserved for this environment, 0 to 1"
  ),
  tokenizerName: field(
    Schema.String,
    "NousResearch/DeepHermes-3-Llama-3-3B-Preview",
    'Hugging Face tokenizer: hub id or folder; "bytes": a byte-level one that needs no download'
  ),
  rolloutServerUrl: field(Schema.String, "http://localhost:8000", "trajectory service"),
  totalSteps: field(
    Schema.Int,
    1000,
    "trainer steps to run for; -1: as the service says; under process: number of groups"
  ),
  useWandb: field(
    Schema.Boolean,
    true,
    "figures go to Weights & Biases too, where there is a key in WANDB_API_KEY; given without a key: to a folder for wandb-sync"
  ),
  wandbName: field(
    Schema.NullOr(Schema.String),
    null,
    "name announced to the service, and the beginning of the name of the run in Weights & Biases; null: the environment's own"
  ),
  numRolloutsToKeep: field(
    Schema.Int,
    32,
    "groups in the table train/rollouts, the newest; for sinks that take tables (Weights & Biases, TensorBoard)"
  ),
  numRolloutsPerGroupForLogging: field(Schema.Int, 1, "rollouts of a group in that table; -1: all"),
  minItemsSentBeforeLogging: field(
    Schema.Int,
    2,
    "groups sent before metrics are logged at a step change; 0 or less: always"
  ),
  ensureScoresAreNotSame: field(Schema.Boolean, true, "drop groups whose scores are all equal"),
  dataPathToSaveGroups: field(Schema.NullOr(Schema.String), null, "JSONL file to save accepted groups to"),
  dataDirToSaveEvals: field(
    Schema.NullOr(Schema.String),
    null,
    "folder for evaluation results; null: under serve none are written"
  ),
  includeMessages: field(Schema.Boolean, false, "send the chats with the tokens"),
  workerTimeout: field(Schema.Finite, 600, "seconds an item may take to roll out or to evaluate; 0 or less: no limit"),
  thinkingMode: field(
    Schema.Boolean,
    false,
    "ask providers for reasoning in chat requests; servers that take token ids follow their chat template instead"
  ),
  reasoningEffort: field(
    Schema.NullOr(Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh"])),
    null,
    "reasoning effort asked for; turns thinking_mode on"
  ),
  maxReasoningTokens: field(
    Schema.NullOr(positive),
    null,
    "reasoning token limit asked for (providers take 1024 to 32000), where no effort is; turns thinking_mode on"
  ),
  customThinkingPrompt: field(
    Schema.NullOr(Schema.String),
    null,
    "system prompt that asks for thinking, for environments that read it; the built-in ones have their own"
  )
} as const

export const Common = Schema.Struct(commonFields)
/** The settings every environment has. */
export type Common = typeof Common.Type

/** camelCase name -> the original's snake_case name. */
export const wireName = (name: string): string => String.camelToSnake(name)

/** A set of fields as settings: of one kind of environment, or of whatever else is configured the same way. */
export interface Settings<A> {
  /** By camelCase name; each with `description` and `default` annotations. */
  readonly fields: Schema.Struct.Fields
  /** Decodes the snake_case form (YAML, flags), defaults filled in. */
  readonly decode: (encoded: unknown) => Effect.Effect<A, Schema.SchemaError>
  /** Completes settings given in code. Throws `SchemaError` for a value out of range. */
  readonly complete: (given: Partial<A>) => A
  /** The snake_case form, to be written beside results. */
  readonly encode: (settings: A) => { readonly [name: string]: unknown }
}

/** The common settings and an environment's own. */
export const make = <const Own extends Schema.Struct.Fields>(
  own: Own
): Settings<Schema.Struct.Type<typeof commonFields & Own>> =>
  // A spread of a type parameter is an intersection to the reader, not to the compiler.
  fromFields<typeof commonFields & Own>({ ...commonFields, ...own })

/** Settings of these fields alone. */
export const fromFields = <const Fields extends Schema.Struct.Fields>(
  fields: Fields
): Settings<Schema.Struct.Type<Fields>> => {
  type A = Schema.Struct.Type<Fields>
  const names: Record<string, string> = Object.fromEntries(Object.keys(fields).map((name) => [name, wireName(name)]))
  // The keys are computed, so the compiler cannot relate them to the fields: one cast, here.
  const codec = Schema.Struct(fields).pipe(Schema.encodeKeys(names)) as unknown as Schema.Codec<
    A,
    Record<string, unknown>
  >
  const decodeEffect = Schema.decodeUnknownEffect(codec)
  const decodeSync = Schema.decodeUnknownSync(codec)
  const encode = Schema.encodeSync(codec)
  const strict = { onExcessProperty: "error" } as const
  return {
    fields,
    decode: (encoded) => decodeEffect(encoded, strict),
    complete: (given) =>
      decodeSync(Object.fromEntries(Object.entries(given).map(([name, value]) => [wireName(name), value])), strict),
    encode
  }
}
