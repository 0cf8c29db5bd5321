/** Identifies a run of `up`: everything that determines what is learned, and nothing about its length or location. */
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { type Array as Arr, Option, Predicate, Struct } from "effect"
import type { RunSettings } from "../config/RunSettings.ts"
import type { Recipe } from "./Recipe.ts"
import * as Sampling from "./Sampling.ts"

/** The options that an identity is made of. */
export interface Identifying {
  readonly settings: Arr.NonEmptyReadonlyArray<RunSettings>
  readonly trainer: TrainerSettings.TrainerSettings
  readonly recipe: Option.Option<Recipe>
  readonly stepsAhead: number
  readonly sampling: Sampling.Sampling
}

interface Identity {
  readonly environment: string
  readonly env: unknown
  readonly trainer: object
  readonly lora: TrainerSettings.TrainerSettings["lora"]
  readonly loss: TrainerSettings.TrainerSettings["loss"]
  readonly stepsAhead: number
  readonly sampling: Sampling.Sampling
  readonly warmStart: Recipe["warmStart"] | null
}

/** The content of `run.json`. */
export const make = ({
  recipe,
  sampling,
  settings,
  stepsAhead,
  trainer: { lora, loss, trainer }
}: Identifying): Identity => {
  const [first, ...others] = settings
  return {
    environment: settings.map(({ word }) => word).join(" "),
    env: others.length === 0 ? first.input : settings.map((one) => one.input),
    trainer: Struct.omit(trainer, TrainerSettings.ofRunning),
    lora,
    loss,
    stepsAhead,
    sampling,
    warmStart: Option.getOrNull(Option.map(recipe, ({ warmStart }) => warmStart))
  }
}

const record = (value: unknown): object => (Predicate.isReadonlyObject(value) ? value : {})

/**
 * Converts the identity of an older version, so that its run can be resumed: missing settings get their default, and
 * settings that no longer count are dropped.
 */
export const ofToday = (written: unknown): unknown => {
  if (!Predicate.isReadonlyObject(written)) return written
  const { lora, loss, trainer } = TrainerSettings.complete({})
  return {
    sampling: Sampling.asEver,
    ...written,
    trainer: Struct.omit({ ...trainer, ...record(written["trainer"]) }, TrainerSettings.ofRunning),
    lora: { ...lora, ...record(written["lora"]) },
    loss: { ...loss, ...record(written["loss"]) }
  }
}
