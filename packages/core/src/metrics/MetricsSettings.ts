/**
 * Settings of a run's metrics: sinks, destinations, and the share of traces. `--metrics.<field>`, `metrics:` in files.
 */
import { Schema } from "effect"
import { field, fromFields } from "../base/Settings.ts"

const text = Schema.NullOr(Schema.NonEmptyString)
const share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const port = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))

export const metricsFields = {
  file: field(
    Schema.Boolean,
    true,
    "write metrics as JSON Lines: metrics.jsonl for a trainer, <name>.metrics.jsonl for an environment"
  ),
  service: field(
    Schema.Boolean,
    true,
    "send metrics to the trajectory service, for its viewer and its /metrics endpoint"
  ),
  tensorboard: field(Schema.Boolean, false, "write TensorBoard event files, to the folder tensorboard"),
  wandb: field(
    Schema.NullOr(Schema.Boolean),
    null,
    "log to Weights & Biases; if unset, log if use_wandb is on and WANDB_API_KEY is set"
  ),
  folder: field(
    text,
    null,
    "folder for metrics files; if unset, next to a trainer's checkpoints, or .atropos/metrics for an environment"
  ),
  port: field(
    Schema.NullOr(port),
    null,
    "port to serve this process's metrics on, at /metrics for Prometheus; 0 picks a free port"
  ),
  host: field(Schema.NonEmptyString, "127.0.0.1", "address to serve that port on; 0.0.0.0 means all interfaces"),
  otlpEndpoint: field(
    text,
    null,
    "OpenTelemetry collector for metrics and traces (OTLP over HTTP, for example http://localhost:4318); if unset, OTEL_EXPORTER_OTLP_ENDPOINT is used"
  ),
  traceSample: field(share, 1, "share of items to trace if there is a collector; trainer steps are always traced"),
  flushSeconds: field(
    Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)),
    10,
    "seconds each metrics sink may take to finish on exit"
  ),
  wandbProject: field(text, null, "Weights & Biases project; if unset, the one the trainer announced, or atropos"),
  wandbGroup: field(text, null, "Weights & Biases group; if unset, the one the trainer announced"),
  wandbName: field(text, null, "Weights & Biases run name; if unset, the source's name, the date and six letters"),
  wandbEntity: field(text, null, "Weights & Biases user or team; if unset, WANDB_ENTITY, or the owner of the key"),
  wandbMode: field(
    Schema.NullOr(Schema.Literals(["online", "offline", "disabled"])),
    null,
    "offline only writes the metrics file, for atropos wandb-sync; if unset, WANDB_MODE, or online with a key and offline without"
  ),
  wandbRunId: field(
    Schema.NullOr(
      Schema.String.check(Schema.isPattern(/^[\w.-]{1,64}$/, { message: "letters, digits, dots and dashes" }))
    ),
    null,
    "id of the Weights & Biases run to resume or create; if unset, the id in this folder when resuming, or a new one"
  )
} as const

export const settings = fromFields(metricsFields)
export type MetricsSettings = Schema.Struct.Type<typeof metricsFields>
