/**
 * Reads the small request bodies of the original's endpoints: a trainer's registration, an environment's, an
 * environment's id.
 *
 * Values are coerced and errors reported as for groups (`WireGroup`). Numbers have the same bounds as at the versioned
 * endpoints, because one client's values affect all.
 */
import { Predicate, Result } from "effect"
import { type Loc, Report } from "./wire/Detail.ts"
import * as Scalars from "./wire/Scalars.ts"
import { bounds, type EnvironmentSpec, type RunSpec } from "./TrajectoryApi.ts"
import { WireError } from "./WireGroup.ts"

type Read<A> = (value: unknown, loc: Loc, report: Report) => A
type Form = { readonly [field: string]: Read<unknown> }
type Values<F extends Form> = { readonly [K in keyof F]: F[K] extends Read<infer A> ? A : never }

const loc: Loc = ["body"]

const integer: Read<number> = (value, at, report) => Scalars.int(value, Scalars.int32, at, report)
const atMost =
  (maximum: number): Read<number> =>
  (value, at, report) =>
    Scalars.int(value, { ...Scalars.int32, maximum }, at, report)
const weight: Read<number> = (value, at, report) =>
  Scalars.float(value, { minimum: -bounds.weight, maximum: bounds.weight }, at, report)
const shareOrNull: Read<number | null> = (value, at, report) =>
  value === null || value === undefined ? null : Scalars.float(value, { minimum: 0, maximum: 1 }, at, report)
const text: Read<string> = (value, at, report) => {
  const read = Scalars.string(value, at, report)
  if (read.length > bounds.text) {
    report.add("string_too_long", at, `String should have at most ${bounds.text} characters`, null, {
      max_length: bounds.text
    })
  }
  return read
}

const read = <const F extends Form>(
  form: F,
  json: unknown,
  optional: ReadonlyArray<string> = []
): Result.Result<Values<F>, WireError> => {
  const report = new Report()
  const values: { [field: string]: unknown } = {}
  if (Predicate.isReadonlyObject(json)) {
    for (const [field, readField] of Object.entries(form)) {
      if (Object.hasOwn(json, field) || optional.includes(field)) {
        values[field] = readField(json[field], [...loc, field], report)
      } else {
        report.missing([...loc, field], json)
      }
    }
  } else {
    report.add(
      "model_attributes_type",
      loc,
      "Input should be a valid dictionary or object to extract fields from",
      json
    )
  }
  // Each value comes from its field's reader; a missing one is in the report.
  return report.details.length === 0
    ? Result.succeed(values as Values<F>)
    : Result.fail(new WireError({ reason: "invalid", details: report.details }))
}

const registrationForm = {
  wandb_group: text,
  wandb_project: text,
  batch_size: atMost(bounds.batchSize),
  max_token_len: atMost(bounds.maxTokenLength),
  checkpoint_dir: text,
  save_checkpoint_interval: integer,
  starting_step: integer,
  num_steps: integer
}

/** The body of `/register`; it does not contain the run's name. */
export const registration = (json: unknown): Result.Result<Omit<RunSpec, "name">, WireError> =>
  Result.map(read(registrationForm, json), (form) => ({
    batchSize: form.batch_size,
    maxTokenLength: form.max_token_len,
    startingStep: form.starting_step,
    numSteps: form.num_steps,
    checkpointDir: form.checkpoint_dir,
    saveCheckpointInterval: form.save_checkpoint_interval,
    wandbGroup: form.wandb_group,
    wandbProject: form.wandb_project
  }))

const environmentForm = {
  max_token_length: atMost(bounds.maxTokenLength),
  desired_name: text,
  weight,
  group_size: atMost(bounds.groupSize),
  min_batch_allocation: shareOrNull
}

/** The body of `/register-env`. */
export const environment = (json: unknown): Result.Result<EnvironmentSpec, WireError> =>
  Result.map(read(environmentForm, json, ["min_batch_allocation"]), (form) => ({
    desiredName: form.desired_name,
    weight: form.weight,
    groupSize: form.group_size,
    maxTokenLength: form.max_token_length,
    minBatchAllocation: form.min_batch_allocation
  }))

/** The body of `/disconnect-env` and `/status-env`: the id; negative ones count from the end. */
export const environmentId = (json: unknown): Result.Result<number, WireError> =>
  Result.map(read({ env_id: integer }, json), (form) => form.env_id)
