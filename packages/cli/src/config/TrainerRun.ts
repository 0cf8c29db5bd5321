/**
 * Merges the settings of a trainer's run: flags (`--lr`, `--lora.r`, `--loss`), the maps `trainer:`, `lora:` and
 * `loss:` of a YAML file, and the command's own settings below both. All derive from `TrainerSettings`.
 *
 * Flags may be written with dashes (`--batch-size`); `--steps` is `--training_steps`, and `--loss NAME` is
 * `--loss.preset NAME`, with a path `--loss.file PATH`.
 */
import { Settings } from "@atropos/core"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { Effect, type Option } from "effect"
import { UsageError } from "../base/Failure.ts"
import * as Flags from "./Flags.ts"
import * as LossFile from "./LossFile.ts"
import * as Precedence from "./Precedence.ts"
import { explain } from "./RunSettings.ts"

type Values = { readonly [name: string]: unknown }

const groups = {
  trainer: { prefix: "", settings: TrainerSettings.trainer },
  lora: { prefix: "lora.", settings: TrainerSettings.lora },
  loss: { prefix: "loss.", settings: TrainerSettings.loss }
} as const
type Group = keyof typeof groups

const aliases = { trainer: { training_steps: "steps" }, lora: {}, loss: { preset: "loss" } } as const

/** The flags; `defaults` are set by the command or a recipe. */
export const flags = (defaults: { readonly [G in Group]?: Values } = {}) => {
  const of = (group: Group) =>
    Flags.fromFields(groups[group].prefix, groups[group].settings.fields, defaults[group], aliases[group]).flags
  return { trainer: of("trainer"), lora: of("lora"), loss: of("loss") }
}

/** Full names of the boolean flags, without dashes. */
export const booleans: ReadonlyArray<string> = Object.values(groups).flatMap(
  ({ prefix, settings }) => Flags.fromFields(prefix, settings.fields).booleans
)

const names = new Set(
  Object.values(groups).flatMap(({ prefix, settings }) =>
    Object.keys(settings.fields).map((field) => `--${prefix}${Settings.wireName(field)}`)
  )
)

/** Rewrites the trainer's flags in the arguments to their declared spelling. */
export const normalizeArgs = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  LossFile.normalizeArgs(words).map((word) => {
    const [flag = "", ...value] = word.split("=")
    const underscored = `--${flag.slice(2).replaceAll("-", "_")}`
    const known = flag.startsWith("--") && names.has(underscored) ? underscored : flag
    return [known, ...value].join("=")
  })

/** Presets that would reject the settings of recipes. */
const withoutAdvantages: ReadonlySet<unknown> = new Set(["sft", "distill", "on-policy-distill", "dpo"])

export interface Sources {
  /** Settings of the command or a recipe, below the file. */
  readonly mode: { readonly [G in Group]?: Values }
  readonly file: { readonly [section: string]: Values }
  readonly input: { readonly [G in Group]: { readonly [name: string]: Option.Option<unknown> } }
}

type Given = Pick<Sources, "file"> & { readonly input: Pick<Sources["input"], "trainer"> }

/** The value of a trainer setting in the flags, otherwise in the file; undefined if neither sets it. */
export const valueOf = ({ file, input }: Given, name: string): unknown =>
  ({ ...file["trainer"], ...Flags.provided(input.trainer) })[name]

/** Returns true if the file or a flag sets the trainer setting. */
export const isGiven = (sources: Given, name: string): boolean => valueOf(sources, name) !== undefined

/** Merges and checks all sources; a value out of range is reported with its origin. */
export const make = Effect.fn("TrainerRun.make")(function* ({ file, input, mode }: Sources) {
  const lossOf: Values = { ...file["loss"], ...Flags.provided(input.loss) }
  // A recipe's loss settings are about advantages and a reference.
  const isOtherLoss = (lossOf["file"] ?? null) !== null || withoutAdvantages.has(lossOf["preset"])
  const { kl: _, ...withoutKl } = mode.loss ?? {}
  // An estimator without a penalty would be refused.
  const ofMode = { ...mode, loss: isOtherLoss ? {} : lossOf["kl_coef"] === 0 ? withoutKl : mode.loss }
  const decode = <A>(group: Group, settings: Settings.Settings<A>) => {
    const flagged = Flags.provided(input[group])
    const values = Precedence.merge(ofMode[group] ?? {}, file[group] ?? {}, flagged)
    return settings
      .decode(values)
      .pipe(
        Effect.mapError((error) =>
          explain(error, values, (name) =>
            name in flagged
              ? `--${groups[group].prefix}${name}`
              : `${group}.${name}${name in (file[group] ?? {}) ? " in the file of --config" : ""}`
          )
        )
      )
  }
  const trainer = yield* decode("trainer", TrainerSettings.trainer)
  const problem = TrainerSettings.problem(trainer)
  if (problem !== undefined) return yield* new UsageError({ message: problem })
  return {
    trainer,
    lora: yield* decode("lora", TrainerSettings.lora),
    loss: yield* decode("loss", TrainerSettings.loss)
  } satisfies TrainerSettings.TrainerSettings
})
