/**
 * The values of the versioned endpoints: camelCase inside, snake_case on the wire.
 *
 * Number arrays of groups are not here: they travel as `PackedGroup`, or as the original's JSON (`WireGroup`), and
 * never pass through a schema.
 */
import { Schema, String } from "effect"
import * as ScoreAdvantage from "../ScoreAdvantage.ts"

type SnakeCase<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : S

type SnakeKeys<Fields extends Schema.Struct.Fields> = {
  readonly [K in keyof Fields]: K extends string ? SnakeCase<K> : K
}

const snakeKeys = <Fields extends Schema.Struct.Fields>(fields: Fields): SnakeKeys<Fields> =>
  // The type says of each key what the expression does to it.
  Object.fromEntries(Object.keys(fields).map((key) => [key, String.camelToSnake(key)])) as SnakeKeys<Fields>

const wire = <const Fields extends Schema.Struct.Fields>(fields: Fields) => {
  const keys = snakeKeys(fields)
  return Schema.Struct(fields).pipe(Schema.encodeKeys(keys))
}

/** The content type of packed groups. */
export const packedContentType = "application/vnd.atropos.group"

/** Names appear in paths and labels: letters, digits, dot, dash, underscore. */
export const Name = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9._-]{1,128}$/, {
    message: "a name: 1 to 128 letters, digits, dots, dashes and underscores"
  })
)

/**
 * How large what a client says of itself may be, here and at the original's endpoints: all others are reckoned with it.
 */
export const bounds = {
  batchSize: 1_000_000,
  /** No group has more sequences. */
  groupSize: 4096,
  maxTokenLength: 100_000_000,
  weight: 1e9,
  text: 4096
} as const

const positive = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum }))
const text = Schema.String.check(Schema.isMaxLength(bounds.text))
const int32 = Schema.Int.check(Schema.isBetween({ minimum: -0x8000_0000, maximum: 0x7fff_ffff }))

/** How scores become advantages. */
const advantages = Schema.NullOr(
  wire({
    loss: text,
    baseline: Schema.Literals(ScoreAdvantage.baselines),
    advantageScale: Schema.Literals(ScoreAdvantage.scales),
    isUsed: Schema.Boolean
  })
)

/** What a trainer announces. */
export const RunSpec = wire({
  name: Name,
  batchSize: positive(bounds.batchSize),
  maxTokenLength: positive(bounds.maxTokenLength),
  startingStep: Schema.Natural.check(Schema.isLessThanOrEqualTo(0x7fff_ffff)),
  numSteps: int32,
  checkpointDir: text,
  saveCheckpointInterval: int32,
  wandbGroup: text,
  wandbProject: text,
  advantages: Schema.optionalKey(advantages)
})

const run = {
  name: Schema.String,
  batchSize: Schema.Int,
  maxTokenLength: Schema.Int,
  startingStep: Schema.Int,
  numSteps: Schema.Int,
  checkpointDir: Schema.String,
  saveCheckpointInterval: Schema.Int,
  wandbGroup: Schema.String,
  wandbProject: Schema.String,
  advantages,
  registered: Schema.Boolean,
  started: Schema.Boolean,
  currentStep: Schema.Int
}

/** A run as the service knows it. */
export const Run = wire(run)

/** A run in a list; one that was reset, and whose name nobody has taken since, has `ended` and can only be read. */
export const RunRow = wire({ ...run, ended: Schema.Boolean })

/** What an environment announces. */
export const EnvironmentSpec = wire({
  desiredName: Name,
  weight: Schema.Finite.check(Schema.isBetween({ minimum: -bounds.weight, maximum: bounds.weight })),
  groupSize: positive(bounds.groupSize),
  maxTokenLength: positive(bounds.maxTokenLength),
  minBatchAllocation: Schema.NullOr(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })))
})

/** The place an environment got, or that no trainer has started yet. */
export const Registration = Schema.Union([
  wire({
    status: Schema.Literal("registered"),
    envId: Schema.Int,
    name: Schema.String,
    startingStep: Schema.Int,
    numSteps: Schema.Int,
    checkpointDir: Schema.String,
    checkpointInterval: Schema.Int
  }),
  wire({ status: Schema.Literal("waiting") })
])

/** An inference server as an environment sees it: latencies in seconds, null before the first answer. */
const server = wire({
  server: text,
  split: Schema.Literals(["train", "eval"]),
  healthy: Schema.Boolean,
  inFlight: Schema.Natural,
  latencyMean: Schema.NullOr(Schema.Finite),
  latencyP95: Schema.NullOr(Schema.Finite),
  tokensPerSecond: Schema.NullOr(Schema.Finite),
  failures: Schema.Natural
})

const report = {
  /** Items being rolled out. */
  running: Schema.Natural,
  /** Groups the service has not answered for. */
  unsent: Schema.Natural,
  /** Items finished in the last minute. */
  itemsPerMinute: Schema.Finite,
  /** Rollouts that failed since the environment started. */
  failures: Schema.Natural,
  lastError: Schema.NullOr(wire({ at: Schema.Finite, message: text })),
  servers: Schema.Array(server).check(Schema.isMaxLength(1024))
}

/** What an environment says of itself every few seconds. */
export const EnvironmentReport = wire(report)

/** A registered environment, with what it last said of itself and what the service has had of it. */
export const EnvironmentRow = wire({
  envId: Schema.Int,
  name: Schema.String,
  desiredName: Schema.String,
  weight: Schema.Finite,
  groupSize: Schema.Int,
  maxTokenLength: Schema.Int,
  minBatchAllocation: Schema.NullOr(Schema.Finite),
  connected: Schema.Boolean,
  lastSeen: Schema.Finite,
  /** Null before the first; `at` is when it came. */
  report: Schema.NullOr(wire({ at: Schema.Finite, ...report })),
  /** Its part of the sequences of the last 20 batches; null without any. */
  share: Schema.NullOr(Schema.Finite),
  /** Sequences that came in the last minute. */
  rolloutsPerMinute: Schema.Finite
})

/** How full the queue is, as one environment sees it. */
export const EnvironmentStatus = wire({
  currentStep: Schema.Int,
  queueSize: Schema.Int,
  selfQueueSize: Schema.Int,
  maxGroupSize: Schema.Int,
  envWeight: Schema.Finite,
  unallocatedFraction: Schema.Finite
})

/** How full the queue is, as the run sees it; `stuck` lists what waits without being able to leave. */
export const QueueSummary = wire({
  currentStep: Schema.Int,
  queuedGroups: Schema.Int,
  queuedSequences: Schema.Int,
  queuedBytes: Schema.Finite,
  bufferedGroups: Schema.Int,
  formedBatches: Schema.Int,
  leasedBatches: Schema.Int,
  stuck: Schema.Array(
    wire({
      envId: Schema.NullOr(Schema.Int),
      /** Its name; null where nobody registered under this id. */
      environment: Schema.NullOr(Schema.String),
      sequences: Schema.Int,
      count: Schema.Int,
      reason: Schema.String,
      ageSeconds: Schema.Finite
    })
  )
})

/** What became of a submitted group. */
export const SubmitOutcome = Schema.Union([
  wire({ status: Schema.Literals(["received", "duplicate"]) }),
  wire({ status: Schema.Literal("buffered"), bufferSize: Schema.Int })
])

/** Who asks for a batch, how long the answer may take, and how long the batch is theirs. */
export const Claim = wire({
  owner: Schema.NonEmptyString.check(Schema.isMaxLength(256)),
  waitSeconds: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 300 })),
  leaseSeconds: Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(86_400))
})

/** A batch without its groups. In a packed answer these are the headers `atropos-*`. */
export const BatchHead = wire({
  id: Schema.String,
  step: Schema.Int,
  leaseToken: Schema.String,
  leaseUntil: Schema.Finite,
  deliveries: Schema.Int
})

/** A batch as JSON; each group is the original's object of 14 keys. */
export const JsonBatch = wire({
  id: Schema.String,
  step: Schema.Int,
  leaseToken: Schema.String,
  leaseUntil: Schema.Finite,
  deliveries: Schema.Int,
  groups: Schema.Array(Schema.Unknown)
})

/** Proof of a lease. */
export const Lease = wire({ leaseToken: Schema.NonEmptyString })

/** Proof of a lease, and for how long from now it should last. */
export const LeaseExtension = wire({
  leaseToken: Schema.NonEmptyString,
  leaseSeconds: Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(86_400))
})

/** An environment's cursor and its own state. */
export const SavedState = wire({ step: Schema.Int, value: Schema.Unknown })

const rowId = (what: string) => Schema.String.check(Schema.isPattern(/^\d{1,18}$/, { message: `an id of ${what}` }))

const rollout = {
  id: Schema.String,
  environment: Schema.NullOr(Schema.String),
  envId: Schema.NullOr(Schema.Int),
  step: Schema.NullOr(Schema.Int),
  state: Schema.Literals(["buffered", "queued", "formed", "leased", "consumed"]),
  createdAt: Schema.Finite,
  sequences: Schema.Int,
  tokens: Schema.Int,
  scores: Schema.Array(Schema.Finite),
  policyStep: Schema.NullOr(Schema.Int),
  /** The beginning of the last user message; null without messages, and until the group is indexed. */
  preview: Schema.NullOr(Schema.String)
}

/** One stored group without its numbers. */
export const RolloutRow = wire(rollout)

/** A page of rollouts, newest first; `next` is the `before` of the page after. */
export const RolloutPage = wire({
  rows: Schema.Array(RolloutRow),
  next: Schema.NullOr(Schema.String),
  /** Groups that match all filters; told on the first page, null on others. */
  total: Schema.NullOr(Schema.Int),
  /** Groups of the run whose text is not searched yet; told on the first page, null on others. */
  unindexed: Schema.NullOr(Schema.Int)
})

/** A stored group with everything in it: the original's object of 14 keys and `policy_versions`. */
export const Rollout = wire({ ...rollout, group: Schema.Unknown })

/** Which rollouts. The score is the mean of a group's scores; the step is that of its batch. */
export const RolloutQuery = wire({
  environment: Schema.optionalKey(Schema.String),
  stepFrom: Schema.optionalKey(Schema.Int),
  stepTo: Schema.optionalKey(Schema.Int),
  scoreFrom: Schema.optionalKey(Schema.Finite),
  scoreTo: Schema.optionalKey(Schema.Finite),
  text: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
  before: Schema.optionalKey(rowId("a rollout")),
  limit: Schema.optionalKey(positive(1000))
})

const largestTokenId = 2 ** 31 - 1

const isTokenId = (text: string): boolean => /^\d{1,10}$/.test(text) && Number(text) <= largestTokenId

/** Text of token ids. */
export const Pieces = Schema.Struct({
  pieces: Schema.Record(Schema.String, Schema.String.check(Schema.isMaxLength(1024))).check(
    Schema.isMaxProperties(20_000),
    Schema.makeFilter((pieces) => {
      const odd = Object.keys(pieces).find((key) => !isTokenId(key))
      return odd === undefined || `the keys should be token ids, not ${JSON.stringify(odd.slice(0, 100))}`
    })
  )
})

/** Which pieces; all where no ids are given. */
export const PiecesQuery = wire({
  ids: Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(/^\d{1,10}(,\d{1,10}){0,9999}$/, { message: "token ids, separated by commas" })
    )
  )
})

/** A batch without its groups; `free` waits for a claimer. Newest first in lists. */
export const BatchRow = wire({
  id: Schema.String,
  step: Schema.Int,
  sequences: Schema.Int,
  groups: Schema.Int,
  state: Schema.Literals(["leased", "free", "acked"]),
  /** Who claimed it last. */
  leaseOwner: Schema.NullOr(Schema.String),
  leaseUntil: Schema.NullOr(Schema.Finite),
  deliveries: Schema.Int,
  createdAt: Schema.Finite,
  ackedAt: Schema.NullOr(Schema.Finite)
})

/**
 * Metrics of a step, from an environment or the trainer: `metrics/Readings` says what values may be, each for itself.
 */
export const Metrics = wire({
  source: Name,
  step: Schema.Int,
  values: Schema.Record(Schema.String, Schema.Json).check(Schema.isMaxProperties(1000))
})

/** Values that were no figures, by name, and why: the others of their row are kept. */
export const MetricsLeftOut = wire({ leftOut: Schema.Record(Schema.String, Schema.String) })

/** Metrics as kept, `at` milliseconds since the epoch. */
export const MetricsRow = wire({
  id: Schema.String,
  source: Schema.String,
  step: Schema.Int,
  at: Schema.Finite,
  // NaN and the infinities as strings: JSON has none.
  values: Schema.Record(Schema.String, Schema.Number)
})

/** A page of metrics, oldest first; `next` is the `after` of the page after, null at the end. */
export const MetricsPage = wire({ metrics: Schema.Array(MetricsRow), next: Schema.NullOr(Schema.String) })

/** Which metrics. */
export const MetricsQuery = wire({
  after: Schema.optionalKey(rowId("a row of metrics")),
  source: Schema.optionalKey(Schema.String),
  fromStep: Schema.optionalKey(Schema.Int),
  limit: Schema.optionalKey(positive(10_000))
})

/** From where on metrics are told as they come: after a row, or from now on. */
export const MetricsEventsQuery = wire({ after: Schema.optionalKey(rowId("a row of metrics")) })

/** Whether the service can work. */
export const Health = Schema.Struct({
  status: Schema.Literals(["live", "ready"]),
  /** The version of the endpoints: what a client looks for. */
  api: Schema.Literal("v1")
})
