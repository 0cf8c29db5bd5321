/** Settings of runs as they are in force, setting by setting, side by side. Pure. */
import type * as Wire from "../source/Wire.ts"

export interface RunSettings {
  readonly run: string
  /** As the service has it; absent where it does not list the run. */
  readonly registered: Wire.Run | undefined
  readonly sources: ReadonlyArray<Wire.SourceSettings>
}

export interface Row {
  /** `run` (what the trainer registered), `trainer`, or the name of an environment. */
  readonly of: string
  /** With what it lies in: `trainer.lr`. */
  readonly name: string
  /** A text for each of the runs; null where a run lacks the setting. */
  readonly values: ReadonlyArray<string | null>
  readonly isDifferent: boolean
}

/** Of a run as registered: what changes as it trains is left out. */
const registeredFields = [
  "batch_size",
  "max_token_length",
  "starting_step",
  "num_steps",
  "checkpoint_dir",
  "save_checkpoint_interval",
  "wandb_group",
  "wandb_project",
  "advantages"
] as const

/** Lists of plain values are a text; everything else in a setting has a line of its own. */
const flat = (name: string, value: unknown): ReadonlyArray<readonly [string, string]> => {
  if (Array.isArray(value) && value.some((item) => typeof item === "object" && item !== null)) {
    return value.flatMap((item: unknown, at) => flat(`${name}[${at}]`, item))
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([key, inner]) => flat(name === "" ? key : `${name}.${key}`, inner))
  }
  return [[name, typeof value === "string" ? value : (JSON.stringify(value) ?? "")]]
}

const textsOf = ({ registered, sources }: RunSettings): ReadonlyMap<string, string> => {
  const fields: object = Object.fromEntries(
    registeredFields.flatMap((name) =>
      registered !== undefined && name in registered ? [[name, registered[name as keyof Wire.Run]]] : []
    )
  )
  return new Map(
    [{ source: "run", settings: fields }, ...sources].flatMap(({ settings, source }) =>
      flat("", settings)
        .filter(([name]) => name !== "")
        .map(([name, text]) => [`${source}\n${name}`, text] as const)
    )
  )
}

/** In the order of the first run that has a setting. */
export const of = (runs: ReadonlyArray<RunSettings>): ReadonlyArray<Row> => {
  const texts = runs.map(textsOf)
  return [...new Set(texts.flatMap((one) => [...one.keys()]))].map((key) => {
    const [of = "", name = ""] = key.split("\n")
    const values = texts.map((one) => one.get(key) ?? null)
    return { of, name, values, isDifferent: new Set(values).size > 1 }
  })
}

/** Rows in which every word is found: in names, sources or values. */
export const search = (rows: ReadonlyArray<Row>, words: string): ReadonlyArray<Row> => {
  const wanted = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
  if (wanted.length === 0) return rows
  return rows.filter(({ name, of, values }) => {
    const text = [of, name, ...values.map((value) => value ?? "")].join("\n").toLowerCase()
    return wanted.every((word) => text.includes(word))
  })
}
