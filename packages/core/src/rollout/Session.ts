/**
 * Opens the resources of a running environment: its registration with the service, its folder, leftovers of an earlier
 * process, dead letters, and metrics.
 *
 * Opening waits for the service and the trainer, and fails on permanent errors.
 */
import { Effect, FileSystem, Option, Path, type Scope } from "effect"
import type { EnvironmentShape } from "../Environment.ts"
import type { Common } from "../definition/EnvironmentSettings.ts"
import * as MetricsSink from "../metrics/MetricsSink.ts"
import { ServerManager, type ServerManagerShape } from "../inference/ServerManager.ts"
import { Tokenizer, type TokenizerShape } from "../inference/tokenizer/Tokenizer.ts"
import { EnvironmentClient, type EnvironmentClientShape } from "../service/EnvironmentClient.ts"
import { TelemetryClient, type TelemetryClientShape } from "../service/TelemetryClient.ts"
import { checkSettings, type Complete, failing, RolloutError } from "./Options.ts"
import * as RolloutMetrics from "./RolloutMetrics.ts"
import * as RolloutTable from "./RolloutTable.ts"
import * as Progress from "./state/Progress.ts"
import * as StateFolder from "./state/StateFolder.ts"
import * as Connection from "./submit/Connection.ts"
import * as DeadLetters from "./submit/DeadLetters.ts"
import * as GroupFile from "./submit/GroupFile.ts"

export interface Session {
  readonly environment: EnvironmentShape
  readonly settings: Common
  /** Used for state and keys. */
  readonly name: string
  readonly options: Complete
  readonly client: EnvironmentClientShape
  readonly telemetry: TelemetryClientShape
  readonly servers: ServerManagerShape
  readonly tokenizer: Option.Option<TokenizerShape>
  readonly connection: Connection.Connection
  /** From the run the environment is currently registered with. */
  readonly batchSize: () => number
  readonly totalSteps: number
  /** The trainer's step when the state was saved, or now if there was none. */
  readonly firstStep: number
  readonly progress: Progress.Progress
  readonly deadLetters: DeadLetters.DeadLetters
  /** Set if groups are also written to a file. */
  readonly groupFile: GroupFile.GroupFile | undefined
  readonly metrics: RolloutMetrics.RolloutMetrics
  readonly recorder: MetricsSink.Recorder
  readonly table: RolloutTable.RolloutTable
}

export const open = Effect.fn("Session.open")(function* (
  environment: EnvironmentShape,
  name: string,
  options: Complete
): Effect.fn.Return<
  Session,
  RolloutError,
  EnvironmentClient | TelemetryClient | ServerManager | FileSystem.FileSystem | Path.Path | Scope.Scope
> {
  const client = yield* EnvironmentClient
  const telemetry = yield* TelemetryClient
  const servers = yield* ServerManager
  const path = yield* Path.Path
  const tokenizer = yield* Effect.serviceOption(Tokenizer)
  const { settings } = environment
  const folder = yield* StateFolder.pathOf(options.spoolDirectory, name)
  yield* StateFolder.hold(folder).pipe(
    Effect.mapError((cause) =>
      cause._tag === "FolderLockError" && cause.isHeld
        ? new RolloutError({
            environment: name,
            reason: "state",
            message: `${cause.message}: ${StateFolder.advice}`,
            cause
          })
        : failing(name, "state")(cause)
    )
  )
  // Only now: an environment that was refused would stay connected at the service.
  const { batchSize, connection, totalSteps } = yield* register(client, name, settings)
  const registration = connection.registration()
  const progress = yield* Progress.open({
    client,
    environment,
    name,
    folder,
    spoolMaxBytes: options.spoolMaxBytes,
    currentStep: registration.startingStep
  }).pipe(Effect.mapError(failing(name, "state")))
  const deadLetters = yield* DeadLetters.make(path.join(folder, "dead-letters.jsonl"))
  const groupFile =
    settings.dataPathToSaveGroups === null
      ? undefined
      : yield* GroupFile.open(settings.dataPathToSaveGroups).pipe(Effect.mapError(failing(name, "state")))
  const recorder = yield* Effect.flatMap(MetricsSink.orService(telemetry), ({ open }) =>
    open({
      kind: "environment",
      name: registration.name,
      key: name,
      isResumed: Option.isSome(progress.resumedFrom),
      prefix: `${registration.name}_`,
      config: inForce(environment, {
        tokenizer: Option.getOrUndefined(tokenizer)?.name,
        modelName: servers.modelName,
        batchSize: batchSize(),
        totalSteps,
        longest: connection.maxTokenLength()
      }),
      announced: Effect.orElseSucceed(client.wandbInfo, () => ({ group: null, project: null }))
    })
  )
  return {
    environment,
    settings,
    name,
    options,
    client,
    telemetry,
    servers,
    tokenizer,
    connection,
    batchSize,
    totalSteps,
    firstStep: Option.getOrElse(progress.resumedFrom, () => registration.startingStep),
    progress,
    deadLetters,
    groupFile,
    metrics: RolloutMetrics.make(name, environment),
    recorder,
    table: RolloutTable.of(settings, recorder, tokenizer)
  }
})

/** The environment's settings in force: values of the run, its trainer or its servers take precedence. */
const inForce = (
  { encodedSettings, settings }: EnvironmentShape,
  {
    batchSize,
    longest,
    modelName,
    tokenizer,
    totalSteps
  }: {
    readonly batchSize: number
    readonly longest: number
    readonly modelName: string
    readonly tokenizer: string | undefined
    readonly totalSteps: number
  }
): { readonly [name: string]: unknown } => ({
  ...encodedSettings,
  batch_size: batchSize,
  total_steps: totalSteps,
  max_token_length: longest > 0 ? Math.min(longest, settings.maxTokenLength) : settings.maxTokenLength,
  ...(tokenizer !== undefined && { tokenizer_name: tokenizer }),
  model_name: modelName
})

const register = Effect.fnUntraced(function* (client: EnvironmentClientShape, name: string, settings: Common) {
  const connection = yield* Connection.make(client, {
    desiredName: name,
    weight: settings.inferenceWeight,
    groupSize: settings.groupSize,
    maxTokenLength: settings.maxTokenLength,
    minBatchAllocation: settings.minBatchAllocation
  }).pipe(Effect.mapError(failing(name, "service")))
  const { name: registeredName, numSteps, startingStep } = connection.registration()
  // Re-read each time: a new registration may be with another run.
  const batchSize = (): number => (connection.batchSize() > 0 ? connection.batchSize() : settings.batchSize)
  const totalSteps = settings.totalSteps === -1 ? numSteps : settings.totalSteps
  yield* checkSettings(name, settings.groupSize, batchSize(), totalSteps)
  const longest = connection.maxTokenLength()
  if (longest > 0 && longest <= settings.maxTokenLength) {
    yield* Effect.logInfo("limiting generations so that prompt and answer fit the trainer's seq_len", {
      seq_len: longest,
      max_token_length: settings.maxTokenLength
    })
  }
  yield* Effect.logInfo("environment registered", {
    name: registeredName,
    batchSize: batchSize(),
    step: startingStep
  })
  return { connection, batchSize, totalSteps }
})
