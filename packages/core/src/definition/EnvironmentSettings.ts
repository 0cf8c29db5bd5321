/**
 * Settings of every environment, with the original's names, defaults and meaning (atroposlib/envs/base.py,
 * BaseEnvConfig).
 *
 * On the command line they are `--env.<name>`, in the original's snake_case.
 */
import { Schema } from "effect"
import { field, fromFields, type Settings } from "../base/Settings.ts"
import { SamplingSettings } from "../trajectory/SamplingSettings.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
/** The original's -1 for "unset". */
const positiveOrUnset = Schema.Int.check(
  Schema.makeFilter((value: number) => value === -1 || value > 0 || "expected -1 or a value greater than 0")
)

export const commonFields = {
  groupSize: field(positive, 4, "rollouts per item; also the group size announced to the service"),
  maxNumWorkers: field(
    positiveOrUnset,
    -1,
    "items rolled out concurrently; -1 means max_num_workers_per_node times the number of inference servers"
  ),
  maxNumWorkersPerNode: field(positive, 8, "items rolled out concurrently per inference server"),
  maxEvalWorkers: field(positive, 16, "items evaluated concurrently"),
  stepsPerEval: field(Schema.Int, 100, "trainer steps between evaluations; 0 or less disables them"),
  evalHandling: field(
    Schema.Literals(["STOP_TRAIN", "LIMIT_TRAIN", "NONE"]),
    "STOP_TRAIN",
    "what training rollouts do during an evaluation: pause (STOP_TRAIN), slow down to eval_limit_ratio (LIMIT_TRAIN), or continue (NONE)"
  ),
  evalLimitRatio: field(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
    0.5,
    "share of workers left for training during an evaluation, with LIMIT_TRAIN"
  ),
  maxTokenLength: field(
    positive,
    2048,
    "max tokens to generate; fewer if prompt and answer would exceed the trainer's seq_len"
  ),
  minTrainedTokens: field(
    Schema.Natural,
    0,
    "rollouts with fewer trained tokens are not trained on; their scores count for the group's mean. The original's chat environments drop those with fewer than 10"
  ),
  inferenceWeight: field(
    Schema.Finite.check(
      Schema.makeFilter((weight) => (weight > 0 || weight === -1 ? undefined : "expected a number above 0, or -1"))
    ),
    1,
    "relative weight among environments: share of each batch within one process, share of the inference servers across processes; -1: as little as possible"
  ),
  rewardWeights: field(
    Schema.Record(Schema.String, Schema.Finite),
    {},
    'weights of reward components in a score, by name, for example {"format": 0.2}; others: 1'
  ),
  batchSize: field(positiveOrUnset, -1, "sequences per batch, if the service does not set one"),
  maxBatchesOffpolicy: field(
    Schema.Natural,
    3,
    "max queued batches before new rollouts pause; 0: roll out only while the queue is empty"
  ),
  minBatchAllocation: field(
    Schema.NullOr(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
    null,
    "share of every batch reserved for this environment, from 0 to 1"
  ),
  tokenizerName: field(
    Schema.String,
    "NousResearch/DeepHermes-3-Llama-3-3B-Preview",
    'Hugging Face tokenizer: hub id or folder, or "bytes" for a byte-level one that needs no download'
  ),
  rolloutServerUrl: field(Schema.String, "http://localhost:8000", "URL of the trajectory service"),
  totalSteps: field(
    positiveOrUnset,
    1000,
    "trainer steps to run for; -1: the run's number of steps. With process: groups to roll out"
  ),
  useWandb: field(
    Schema.Boolean,
    true,
    "also log to Weights & Biases if WANDB_API_KEY is set; if enabled explicitly without a key, log to a folder for wandb-sync"
  ),
  wandbName: field(
    Schema.NullOr(Schema.String),
    null,
    "name announced to the service, and prefix of the Weights & Biases run name; if unset, the environment's name"
  ),
  numRolloutsToKeep: field(
    Schema.Natural,
    32,
    "most recent groups to keep in the train/rollouts table (Weights & Biases and TensorBoard)"
  ),
  numRolloutsPerGroupForLogging: field(Schema.Int, 1, "rollouts per group in that table; -1: all"),
  minItemsSentBeforeLogging: field(
    Schema.Int,
    2,
    "min groups sent before metrics are logged at a new step; 0 or less: always log"
  ),
  ensureScoresAreNotSame: field(Schema.Boolean, true, "drop groups in which all scores are equal"),
  dataPathToSaveGroups: field(
    Schema.NullOr(Schema.String),
    null,
    "JSONL file to save accepted groups to; if unset, none"
  ),
  dataDirToSaveEvals: field(
    Schema.NullOr(Schema.String),
    null,
    "folder for evaluation results; if unset, serve writes none"
  ),
  includeMessages: field(Schema.Boolean, false, "send chat messages along with tokens"),
  workerTimeout: field(
    Schema.Finite,
    600,
    "time limit per item for a rollout or an evaluation, in seconds; 0 or less: no limit"
  ),
  sampling: field(
    SamplingSettings,
    {},
    'additional sampling parameters of training requests, for example {"min_p": 0.05, "repetition_penalty": 1.1}; those set by the environment take precedence'
  ),
  thinkingMode: field(
    Schema.Boolean,
    false,
    "ask the provider for reasoning in chat requests; with servers that take token ids, the chat template decides"
  ),
  reasoningEffort: field(
    Schema.NullOr(Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh"])),
    null,
    "reasoning effort to request; enables thinking_mode"
  ),
  maxReasoningTokens: field(
    Schema.NullOr(positive),
    null,
    "max reasoning tokens (providers accept 1024 to 32000); used if no effort is set; enables thinking_mode"
  ),
  customThinkingPrompt: field(
    Schema.NullOr(Schema.String),
    null,
    "system prompt that asks for thinking, for environments that read it; built-in ones have their own"
  )
} as const

export const Common = Schema.Struct(commonFields)
export type Common = typeof Common.Type

export const make = <const Own extends Schema.Struct.Fields>(
  own: Own
): Settings<Schema.Struct.Type<typeof commonFields & Own>> =>
  // A spread of a type parameter is an intersection at run time, but the compiler does not infer it.
  fromFields<typeof commonFields & Own>({ ...commonFields, ...own })
