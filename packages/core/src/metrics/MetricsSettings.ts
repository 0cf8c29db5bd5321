/**
 * What a run's metrics can be told: which sinks there are, where they write, and how much is traced.
 * `--metrics.<field>`, `metrics:` in files.
 */
import { Schema } from "effect"
import { field, fromFields } from "../EnvironmentSettings.ts"

const text = Schema.NullOr(Schema.NonEmptyString)
const share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const port = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))

export const metricsFields = {
  file: field(
    Schema.Boolean,
    true,
    "figures as lines of JSON: metrics.jsonl of a trainer, <name>.metrics.jsonl of an environment"
  ),
  service: field(Schema.Boolean, true, "figures to the trajectory service, for its viewer and its /metrics"),
  tensorboard: field(Schema.Boolean, false, "TensorBoard event files, in the folder tensorboard"),
  wandb: field(
    Schema.NullOr(Schema.Boolean),
    null,
    "Weights & Biases; None: where use_wandb is set and there is a key in WANDB_API_KEY"
  ),
  folder: field(text, null, "where files go; None: beside a trainer's checkpoints, .atropos/metrics of an environment"),
  port: field(
    Schema.NullOr(port),
    null,
    "serves this process's figures and counters to Prometheus at /metrics; 0: any free port"
  ),
  host: field(Schema.NonEmptyString, "127.0.0.1", "address that port is served on; 0.0.0.0: all"),
  otlpEndpoint: field(
    text,
    null,
    "OpenTelemetry collector (OTLP over HTTP, say http://localhost:4318) for metrics and traces; None: OTEL_EXPORTER_OTLP_ENDPOINT, else none"
  ),
  traceSample: field(share, 1, "share of the items traced, where there is a collector; steps always are"),
  flushSeconds: field(
    Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)),
    10,
    "seconds a sink may take to finish at the end"
  ),
  wandbProject: field(text, null, "project; None: as the trainer announced it, else atropos"),
  wandbGroup: field(text, null, "group; None: as the trainer announced it"),
  wandbName: field(text, null, "name of the run; None: the source's name, the day and six letters"),
  wandbEntity: field(text, null, "user or team; None: WANDB_ENTITY, else the key's own"),
  wandbMode: field(
    Schema.NullOr(Schema.Literals(["online", "offline", "disabled"])),
    null,
    "offline: only a folder, for atropos wandb-sync; None: WANDB_MODE, else online with a key and offline without"
  ),
  wandbRunId: field(
    Schema.NullOr(
      Schema.String.check(Schema.isPattern(/^[\w.-]{1,64}$/, { message: "letters, digits, dots and dashes" }))
    ),
    null,
    "id of the run to go on with, or to make; None: a new one, or the one this folder has of a run that is gone on with"
  )
} as const

export const settings = fromFields(metricsFields)
export type MetricsSettings = Schema.Struct.Type<typeof metricsFields>
