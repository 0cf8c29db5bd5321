/**
 * What the trainer can be told. Names and defaults are those of the original's example trainer
 * (example_trainer/config.py) where it has the setting; what differs is said in the description.
 *
 * Three groups: `trainer` gives the flags without a prefix (`--lr`, `--batch_size`), `lora` those of the adapter
 * (`--lora.r`), `loss` a preset and changes to it (`--loss.preset`). Defaults, flags, YAML keys, help and errors derive
 * from these declarations.
 */
import { field, fromFields } from "@atropos/core/EnvironmentSettings"
import { Effect, Schema } from "effect"
import { LossSettings } from "../loss/LossSettings.ts"
import * as Schedule from "../learn/Schedule.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const count = Schema.Natural
const positiveNumber = Schema.Finite.check(Schema.isGreaterThan(0))
const share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const beta = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1, exclusiveMaximum: true }))
const notNegative = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

/** A list with a default; the list of `--help` and of the decoder are the same. */
const list = (fallback: ReadonlyArray<string>, description: string) =>
  Schema.Array(Schema.String)
    .annotate({ description, default: fallback })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed(fallback)))

export const trainerFields = {
  model: field(
    Schema.NonEmptyString,
    "Qwen/Qwen2.5-0.5B-Instruct",
    "model to train: a Hugging Face folder or hub id (Llama, Qwen2, Qwen3); under up also scratch: a small one of characters"
  ),
  trains: field(
    Schema.Literals(["adapter", "all"]),
    "adapter",
    "what is trained: a LoRA adapter on a frozen model, or all of the model's weights"
  ),
  run: field(Schema.NonEmptyString, "default", "run of the trajectory service to train for"),
  atroposUrl: field(Schema.String, "http://localhost:8000", "trajectory service"),
  trainingSteps: field(positive, 10, "batches to train on, those before a resumed checkpoint included"),
  batchSize: field(
    positive,
    64,
    "sequences in a batch, one update of the weights each (the original's batch_size times gradient_accumulation_steps)"
  ),
  seqLen: field(positive, 2048, "longest sequence, tokens; announced to the environments"),
  tokenBudget: field(positive, 8192, "positions of a micro-batch, padding included; bounds memory, changes no result"),
  tooLong: field(Schema.Literals(["cut", "drop"]), "drop", "longer sequences: cut off their end, or leave them out"),
  lr: field(
    Schema.NullOr(positiveNumber),
    null,
    "learning rate after the warm-up; null: 1e-4 for an adapter, 1e-5 for all weights (the original's, which trained all)"
  ),
  schedule: field(Schema.Literals(Schedule.kinds), "constant", "learning rate after the warm-up"),
  warmupSteps: field(count, 0, "steps over which the learning rate rises to lr"),
  lrFloor: field(share, 0.1, "last learning rate under cosine and linear, as a share of lr"),
  adamBeta1: field(beta, 0.9, "AdamW: decay of the mean of gradients"),
  adamBeta2: field(beta, 0.999, "AdamW: decay of the mean of squared gradients"),
  adamEpsilon: field(positiveNumber, 1e-8, "AdamW: added to the root of that mean"),
  weightDecay: field(notNegative, 0.01, "AdamW: decoupled decay of matrices; norms and biases have none"),
  maxGradNorm: field(Schema.NullOr(positiveNumber), 1, "norm the gradient is clipped to; null: not clipped"),
  maxNonFinite: field(
    positive,
    3,
    "steps in a row whose loss or gradient is not a number before training stops; fewer are skipped"
  ),
  maxStaleness: field(
    Schema.NullOr(count),
    null,
    "updates the weights may have had since a sequence was sampled; null: any number"
  ),
  onStale: field(
    Schema.Literals(["drop", "mask"]),
    "drop",
    "older sequences: leave their group, or stay in its baseline without being trained on"
  ),
  temperature: field(positiveNumber, 1, "temperature of sequences that do not say what they were sampled at"),
  maxMismatch: field(
    positiveNumber,
    0.02,
    "mean difference of the sampler's and the trainer's logprobs, nats, above which the first steps stop training; bf16 servers need about 0.05"
  ),
  savePath: field(
    Schema.NonEmptyString,
    "trained_model_checkpoints",
    "folder of checkpoints; training resumes from the newest"
  ),
  checkpointInterval: field(
    count,
    3,
    "steps between checkpoints; 0: only at the end. Batches are acknowledged with the checkpoint that holds them"
  ),
  keepCheckpoints: field(positive, 3, "checkpoints kept, the newest"),
  leaseSeconds: field(
    Schema.Finite.check(Schema.isGreaterThanOrEqualTo(1)),
    60,
    "seconds after which the service hands out a dead trainer's batches again; renewed while it lives"
  ),
  prefetch: field(count, 0, "batches claimed ahead of the one in training; each adds a step of staleness"),
  seed: field(count, 0, "seed of the adapter's initial values"),
  device: field(
    Schema.Literals(["auto", "cpu", "webgpu", "cuda"]),
    "auto",
    "where the graph runs; auto: the best that works"
  ),
  threads: field(count, 0, "threads of the CPU device; 0: one for each core"),
  weightSync: list(
    [],
    "who gets new weights: vllm+http://host:port, sglang+http://host:port, policy+http://host:port; none: nobody"
  ),
  useWandb: field(
    Schema.Boolean,
    false,
    "figures go to Weights & Biases too; without a key in WANDB_API_KEY to a folder for wandb-sync"
  ),
  wandbProject: field(Schema.String, "", "project in Weights & Biases, announced to the environments"),
  wandbGroup: field(Schema.String, "", "group in Weights & Biases, announced to the environments")
} as const

export const loraFields = {
  r: field(positive, 16, "rank of the adapter"),
  alpha: field(positiveNumber, 32, "scale: the adapter counts alpha / r, or alpha / sqrt(r) under rslora"),
  targetModules: list(
    ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    "linear layers that get an adapter (the original: q_proj and v_proj)"
  ),
  rslora: field(Schema.Boolean, false, "rank-stabilised scale, arXiv 2312.03732")
} as const

const TrainerFields = Schema.Struct(trainerFields)
export type TrainerFields = typeof TrainerFields.Type

const LoraFields = Schema.Struct(loraFields)
export type LoraFields = typeof LoraFields.Type

export const trainer = fromFields(trainerFields)
export const lora = fromFields(loraFields)
export const loss = fromFields(LossSettings.fields)

/** All of it: what a program gives, and what is written into every checkpoint. */
export interface TrainerSettings {
  readonly trainer: TrainerFields
  readonly lora: LoraFields
  readonly loss: LossSettings
}

/** Completes settings given in code. Throws `SchemaError` for a value out of range. */
export const complete = (given: {
  readonly trainer?: Partial<TrainerFields>
  readonly lora?: Partial<LoraFields>
  readonly loss?: Partial<LossSettings>
}): TrainerSettings => ({
  trainer: trainer.complete(given.trainer ?? {}),
  lora: lora.complete(given.lora ?? {}),
  loss: loss.complete(given.loss ?? {})
})

/** What says how far, where and for whom to run, and nothing of what is learned. */
export const ofRunning: ReadonlyArray<keyof TrainerFields> = [
  "trainingSteps",
  "savePath",
  "checkpointInterval",
  "keepCheckpoints",
  "leaseSeconds",
  "prefetch",
  "device",
  "threads",
  "tokenBudget",
  "maxMismatch",
  "maxNonFinite",
  "run",
  "atroposUrl",
  "weightSync",
  "useWandb",
  "wandbProject",
  "wandbGroup"
]

/** The snake_case form, as a YAML file has it. */
export const encode = (settings: TrainerSettings): { readonly [name: string]: unknown } => ({
  ...trainer.encode(settings.trainer),
  lora: lora.encode(settings.lora),
  loss: loss.encode(settings.loss)
})

/** The learning rate after the warm-up: an adapter has few values to move, and takes ten times that of all weights. */
export const learningRate = ({ lr, trains }: Pick<TrainerFields, "lr" | "trains">): number =>
  lr ?? (trains === "adapter" ? 1e-4 : 1e-5)

/** The learning rate's course. */
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
