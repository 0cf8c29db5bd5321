/**
 * Declares the trainer's settings; defaults, flags, YAML keys, help and errors derive from them. Names and defaults
 * match the original's example trainer (example_trainer/config.py) if it has the setting.
 *
 * Groups: `trainer` (flags without a prefix), `lora` (`--lora.r`), `loss`, a preset and changes to it
 * (`--loss.preset`).
 */
import { field, fromFields } from "@atropos/core/base/Settings"
import { Effect, Schema } from "effect"
import * as QuantizedWeights from "../model/QuantizedWeights.ts"
import { LossSettings } from "../loss/LossSettings.ts"
import * as Schedule from "../learn/Schedule.ts"
import * as TorchSettings from "../torch/TorchSettings.ts"
import * as StopOn from "./StopOn.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const count = Schema.Natural
const positiveNumber = Schema.Finite.check(Schema.isGreaterThan(0))
const share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const beta = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1, exclusiveMaximum: true }))
const notNegative = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

/** A list with a default, which `--help` and the decoder share. */
const list = (fallback: ReadonlyArray<string>, description: string) =>
  Schema.Array(Schema.String)
    .annotate({ description, default: fallback })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed(fallback)))

export const trainerFields = {
  model: field(
    Schema.NonEmptyString,
    "Qwen/Qwen2.5-0.5B-Instruct",
    "model to train: a Hugging Face folder or hub id, of an architecture that the page on models lists; bundled: the small model that comes with the command; with up also scratch, a small character-level model"
  ),
  trains: field(
    Schema.Literals(["adapter", "all"]),
    "adapter",
    "what to train: a LoRA adapter on the frozen model, or all of its weights"
  ),
  quantize: field(
    Schema.Literals(["none", ...QuantizedWeights.kinds]),
    "none",
    "quantize the frozen weights of linear layers to 8 or 4 bits (int8, int4), an eighth to a third of their memory; done once, and cached"
  ),
  engine: field(
    Schema.NonEmptyString,
    "local",
    "where the model is trained: local, ONNX Runtime on this machine; torch, PyTorch on this machine's GPUs or CPU; or, also sampled from, a Tinker server: tinker+http://host:port or tinker+https://host, with its key in TINKER_API_KEY"
  ),
  ...TorchSettings.fields,
  run: field(Schema.NonEmptyString, "default", "run of the trajectory service to train"),
  atroposUrl: field(Schema.String, "http://localhost:8000", "URL of the trajectory service"),
  trainingSteps: field(positive, 10, "batches to train on, including those before a resumed checkpoint"),
  batchSize: field(
    positive,
    64,
    "sequences per batch, with one step per batch (in the original: batch_size times gradient_accumulation_steps)"
  ),
  updatesPerBatch: field(
    positive,
    1,
    "weight updates with each batch, each over the whole batch (TRL's num_iterations); from the second on the ratio shows how far the policy has moved"
  ),
  seqLen: field(positive, 2048, "max sequence length, in tokens; announced to the environments"),
  tokenBudget: field(
    Schema.NullOr(positive),
    null,
    "tokens per micro-batch, including padding; limits memory, does not change results; if unset, what this machine's cores compute fastest (a longer sequence is alone), on GPUs 8192, or fewer where they do not fit into memory"
  ),
  remat: field(
    Schema.Literals(["auto", "none", "elements", "parts"]),
    "auto",
    "what the backward pass recomputes: none, activations between matmuls (elements), or whole attention and feed-forward blocks (parts: least memory, about a quarter slower); auto: the fastest that fits"
  ),
  memory: field(
    Schema.NullOr(positiveNumber),
    null,
    "memory limit of the process in GiB: micro-batches and caches are sized for it, and a run that cannot fit is refused; if unset, the memory of this machine or its container"
  ),
  tooLong: field(Schema.Literals(["cut", "drop"]), "drop", "what to do with longer sequences: truncate or drop them"),
  lr: field(
    Schema.NullOr(positiveNumber),
    null,
    "peak learning rate; if unset, by the width of the model: 0.3 / hidden size, from 1e-4 to 1e-3, for an adapter, and a tenth of that for all weights (from code: 1e-4 and 1e-5)"
  ),
  schedule: field(Schema.Literals(Schedule.kinds), "constant", "learning rate schedule after warm-up"),
  warmupSteps: field(count, 0, "steps over which the learning rate rises to lr"),
  lrFloor: field(share, 0.1, "final learning rate of the cosine and linear schedules, as a fraction of lr"),
  adamBeta1: field(beta, 0.9, "AdamW beta1: decay of the running mean of gradients"),
  adamBeta2: field(beta, 0.999, "AdamW beta2: decay of the running mean of squared gradients"),
  weightDecay: field(notNegative, 0.01, "AdamW weight decay, for matrices only; norms and biases have none"),
  maxGradNorm: field(Schema.NullOr(positiveNumber), 1, "clip the gradient to this norm; if unset, no clipping"),
  maxNonFinite: field(
    positive,
    3,
    "consecutive steps with a NaN or infinite loss or gradient before training stops; up to then they are skipped"
  ),
  stopOn: field(
    StopOn.Names,
    "",
    "health rules that end the run with exit code 3 when violated, separated by commas, for example collapse,not_finite; if empty, none"
  ),
  healthWebhook: field(
    Schema.String,
    "",
    "URL to POST every finding of the run's health rules to, once each, and whether stop_on ended the run; if empty, none"
  ),
  maxStaleness: field(
    Schema.NullOr(count),
    null,
    "max age of a sequence, in weight updates since it was sampled; if unset, no limit"
  ),
  onStale: field(
    Schema.Literals(["drop", "mask", "wait"]),
    "drop",
    "what to do with older sequences: drop them, keep them in their group's baseline without training on them (mask), or let environments start no rollout that would become too old (wait; sequences that are too old anyway are dropped)"
  ),
  routerReplay: field(
    Schema.Boolean,
    false,
    "mixtures of experts: train every sampled token on the experts used during sampling (rollout routing replay, arXiv 2510.11370); needs the engine of this process (up)"
  ),
  temperature: field(positiveNumber, 1, "sampling temperature to assume for sequences that do not state one"),
  maxMismatch: field(
    positiveNumber,
    0.02,
    "stop in the first steps if the sampler's and the trainer's logprobs differ by more than this on average, in nats; bf16 servers need about 0.05; with quantize int8 the default is measured in the first step, up to 0.2"
  ),
  recordLogprobs: field(
    count,
    32_768,
    "tokens per step whose trainer logprobs are sent to the service, for comparison with the sampler's in the viewer: half from the sequences that differ most, half from others; 0: none"
  ),
  savePath: field(
    Schema.NonEmptyString,
    "trained_model_checkpoints",
    "checkpoint folder; training resumes from the newest checkpoint"
  ),
  checkpointInterval: field(
    count,
    3,
    "steps between checkpoints; 0 means only at the end. Batches are acknowledged once a checkpoint contains them"
  ),
  keepCheckpoints: field(positive, 3, "number of recent checkpoints to keep"),
  leaseSeconds: field(
    Schema.Finite.check(Schema.isGreaterThanOrEqualTo(1)),
    60,
    "seconds after which the service redelivers a dead trainer's batches; a live trainer renews its lease"
  ),
  prefetch: field(count, 0, "batches to claim ahead of the one being trained on; each adds a step of staleness"),
  seed: field(count, 0, "random seed for initial weights"),
  device: field(
    Schema.Literals(["auto", "cpu", "webgpu", "cuda"]),
    "auto",
    "device to run on; auto picks the fastest one that works"
  ),
  threads: field(count, 0, "CPU threads; 0 means one per core"),
  weightSync: list(
    [],
    "servers that receive new weights: vllm+http://host:port, sglang+http://host:port or policy+http://host:port"
  ),
  useWandb: field(
    Schema.Boolean,
    false,
    "also log to Weights & Biases; if WANDB_API_KEY is not set, to a folder for wandb-sync"
  ),
  wandbProject: field(Schema.String, "", "Weights & Biases project, announced to the environments"),
  wandbGroup: field(Schema.String, "", "Weights & Biases group, announced to the environments")
} as const

export const loraFields = {
  r: field(positive, 16, "rank of the adapter"),
  alpha: field(positiveNumber, 32, "scale: the adapter is multiplied by alpha / r, or by alpha / sqrt(r) with rslora"),
  targetModules: list(
    ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    "layers to adapt, also embed_tokens and lm_head; all-linear: every linear layer (in the original: q_proj and v_proj)"
  ),
  rslora: field(Schema.Boolean, false, "rank-stabilised scaling (arXiv 2312.03732)"),
  dora: field(
    Schema.Boolean,
    false,
    "also train the magnitude of each row of the adapted weights (DoRA, arXiv 2402.09353)"
  ),
  modulesToSave: list([], "modules to train fully in addition to the adapter: embed_tokens, lm_head")
} as const

const TrainerFields = Schema.Struct(trainerFields)
export type TrainerFields = typeof TrainerFields.Type

const LoraFields = Schema.Struct(loraFields)
export type LoraFields = typeof LoraFields.Type

export const trainer = fromFields(trainerFields)
export const lora = fromFields(loraFields)
export const loss = fromFields(LossSettings.fields)

/** All settings, as given in code and as written into every checkpoint. */
export interface TrainerSettings {
  readonly trainer: TrainerFields
  readonly lora: LoraFields
  readonly loss: LossSettings
}

/** Completes settings given in code. Throws `SchemaError` if a value is out of range. */
export const complete = (settings: {
  readonly trainer?: Partial<TrainerFields>
  readonly lora?: Partial<LoraFields>
  readonly loss?: Partial<LossSettings>
}): TrainerSettings => ({
  trainer: trainer.complete(settings.trainer ?? {}),
  lora: lora.complete(settings.lora ?? {}),
  loss: loss.complete(settings.loss ?? {})
})

/** Settings that control how the run is executed and do not affect what is learned. */
export const ofRunning: ReadonlyArray<keyof TrainerFields> = [
  "trainingSteps",
  "savePath",
  "checkpointInterval",
  "keepCheckpoints",
  "leaseSeconds",
  "prefetch",
  "device",
  "python",
  "gpus",
  "nodes",
  "rendezvous",
  "parallel",
  "threads",
  "tokenBudget",
  "remat",
  "memory",
  "maxMismatch",
  "recordLogprobs",
  "maxNonFinite",
  "stopOn",
  "healthWebhook",
  "run",
  "atroposUrl",
  "weightSync",
  "useWandb",
  "wandbProject",
  "wandbGroup"
]

/** Describes a contradiction between settings and its fix; undefined if none. */
export const problem = ({ maxStaleness, onStale }: TrainerFields): string | undefined =>
  onStale === "wait" && maxStaleness === null
    ? "on_stale wait needs a bound: also set max_staleness, the max age of a sequence in weight updates " +
      "(--max_staleness 0: on-policy; --max_staleness 1: environments roll out while the trainer trains)"
    : undefined

/** The staleness bound at which environments wait; null if they do not. */
export const waitAtStaleness = ({ maxStaleness, onStale }: TrainerFields): number | null =>
  onStale === "wait" ? maxStaleness : null

/** Encodes the settings in snake_case, as in a YAML file. */
export const encode = (settings: TrainerSettings): { readonly [name: string]: unknown } => ({
  ...trainer.encode(settings.trainer),
  lora: lora.encode(settings.lora),
  loss: loss.encode(settings.loss)
})

/**
 * Learning rate after warm-up; the default for an adapter, which has few parameters, is ten times that for all weights.
 */
export const learningRate = ({ lr, trains }: Pick<TrainerFields, "lr" | "trains">): number =>
  lr ?? (trains === "adapter" ? 1e-4 : 1e-5)

/** Scale per unit of width, and bounds: an adapter of a narrow model takes larger steps than one of a wide model. */
const ofWidth = { scale: 0.3, least: 1e-4, max: 1e-3 }

/**
 * Default learning rate by model width: 5e-4 for an adapter at hidden size 576, 1e-4 from about 2,000 up; a tenth of
 * that for all weights.
 */
export const suitedLearningRate = ({ trains }: Pick<TrainerFields, "trains">, hiddenSize: number): number => {
  const adapter = Math.min(ofWidth.max, Math.max(ofWidth.least, ofWidth.scale / hiddenSize))
  return Number((trains === "adapter" ? adapter : adapter / 10).toPrecision(1))
}

export const scheduleOf = (trainer: TrainerFields): Schedule.Schedule => {
  const { lrFloor, schedule, trainingSteps, warmupSteps } = trainer
  return {
    kind: schedule,
    peak: learningRate(trainer),
    warmupSteps,
    steps: trainingSteps,
    floor: lrFloor
  }
}
