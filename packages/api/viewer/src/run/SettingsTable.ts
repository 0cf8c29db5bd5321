/** Builds a side-by-side table of the runs' effective settings. Pure. */
import type * as Wire from "../source/Wire.ts"

export interface RunSettings {
  readonly run: string
  /** The service's registration; absent if it has none. */
  readonly registered: Wire.Run | undefined
  readonly sources: ReadonlyArray<Wire.SourceSettings>
}

export interface Row {
  /** `run` (registered by the trainer), `trainer`, or the name of an environment. */
  readonly of: string
  /** With its path: `trainer.lr`. */
  readonly name: string
  /** One text per run; null if a run lacks the setting. */
  readonly values: ReadonlyArray<string | null>
  readonly isDifferent: boolean
}

/** Registered fields that do not change during training. */
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

/** Lists of plain values become one text; other nested values get a row each. */
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

/** In the order of the first run with the setting. */
export const of = (runs: ReadonlyArray<RunSettings>): ReadonlyArray<Row> => {
  const texts = runs.map(textsOf)
  return [...new Set(texts.flatMap((one) => [...one.keys()]))].map((key) => {
    const [of = "", name = ""] = key.split("\n")
    const values = texts.map((one) => one.get(key) ?? null)
    return { of, name, values, isDifferent: new Set(values).size > 1 }
  })
}

/** Settings of a run's place and name rather than of its training. */
const locations = /(_dir|_path|url|port|wandb_project|wandb_group|^run)$/

const recorded = ({ values }: Row): ReadonlyArray<string> => values.filter((value) => value !== null)

/** Settings of training whose recorded values differ: those that most runs have recorded first. */
export const differing = (rows: ReadonlyArray<Row>): ReadonlyArray<Row> =>
  rows
    .filter((row) => new Set(recorded(row)).size > 1 && !locations.test(row.name))
    .toSorted((left, right) => recorded(right).length - recorded(left).length)

/** Without settings that only repeat an earlier one, such as `loss.preset` after `advantages.loss`. */
export const distinct = (rows: ReadonlyArray<Row>): ReadonlyArray<Row> => {
  const seen = new Set<string>()
  return rows.filter(({ name, values }) => {
    // The rule of the advantages follows from the loss.
    const key = JSON.stringify(values)
    if (name === "advantages.is_used" || seen.has(key)) return false
    seen.add(key)
    return true
  })
}

/** Rows that contain every word in name, source or values. */
export const search = (rows: ReadonlyArray<Row>, words: string): ReadonlyArray<Row> => {
  const terms = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
  if (terms.length === 0) return rows
  return rows.filter(({ name, of, values }) => {
    const text = [of, name, ...values.map((value) => value ?? "")].join("\n").toLowerCase()
    return terms.every((word) => text.includes(word))
  })
}
