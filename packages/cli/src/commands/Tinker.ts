/**
 * `atropos tinker`: serves a model over Tinker's API, for training and sampling with the official SDK, until stopped.
 */
import * as Listening from "@atropos/core/http/Listening"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as OrtWorker from "@atropos/trainer/exec/OrtWorker"
import * as Device from "@atropos/trainer/exec/Device"
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as ServerSettings from "@atropos/trainer/tinker/service/ServerSettings"
import * as TinkerServer from "@atropos/trainer/tinker/server/TinkerServer"
import { Console, Effect, Layer, Option, Path } from "effect"
import { Command, Flag } from "effect/cli"
import { HttpServer } from "effect/http"
import * as Heartbeat from "../base/Heartbeat.ts"
import * as BundledModel from "../config/BundledModel.ts"
import * as EngineFlags from "../config/EngineFlags.ts"
import * as Flags from "../config/Flags.ts"
import * as Metrics from "../config/Metrics.ts"
import * as Services from "../config/Services.ts"
import * as HelpFlags from "../help/HelpFlags.ts"
import * as MemoryCheck from "../train/MemoryCheck.ts"
import * as ServingMemory from "../train/ServingMemory.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "tinker"

const limits = Flags.fromFields("", ServerSettings.settings.fields)

const announce = (names: ReadonlyArray<string>, device: DeviceKind, folder: string, onStarted: () => void) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      onStarted()
      const { address } = yield* HttpServer.HttpServer
      const url = HttpServer.formatAddress(address)
      yield* Console.log(
        [
          `Tinker's API for ${names[0]} at ${url} (${Device.describe(device)}); Ctrl-C stops it`,
          "",
          `  Python        export TINKER_BASE_URL=${url} TINKER_API_KEY=tml-local`,
          `                base_model ${names.join(", or ")}`,
          `  cookbook      base_url=${url} model_name=${names[0]}`,
          `  checkpoints   ${folder}`
        ].join("\n")
      )
    })
  )

interface Options extends ServingMemory.Given {
  readonly model: string
  readonly name: Option.Option<string>
  readonly folder: string
  readonly device: DeviceKind
  readonly threads: number
  readonly host: string
  readonly port: number
  readonly allowInsecure: boolean
  readonly limits: Record<string, Option.Option<unknown>>
}

const serve = Effect.fn("tinker.serve")((options: Options) =>
  Heartbeat.untilStarted(`loading ${options.model}`, (onStarted) => load(options, onStarted))
)

const load = Effect.fnUntraced(function* (options: Options, onStarted: () => void) {
  const { allowInsecure, device, host, port, threads } = options
  const { basename, resolve } = yield* Path.Path
  yield* Listening.check({ host, port })
  const settings = yield* ServerSettings.settings.decode(Flags.provided(options.limits))
  const serving = ServingMemory.choose(options, device)
  const loaded = yield* PretrainedModel.load(BundledModel.located(options.model), {
    // The smallest adapter, replaced by those of clients.
    trains: { r: 1, alpha: 1, targetModules: ["all-linear"], rslora: false },
    seed: 0,
    check: ServingMemory.check(options.model, {
      ...serving,
      device,
      quantize: "none",
      maxRows: MemoryCheck.maxRows,
      training: settings,
      separator: "_"
    })
  })
  const base = yield* BundledModel.named(loaded, options.model)
  const names = [...new Set([...Option.toArray(options.name), base.name, options.model, basename(base.name)])] as const
  const folder = resolve(options.folder)
  const server = TinkerServer.layer({
    base,
    names,
    // The name clients load the tokenizer by: a path if it is not on the hub.
    tokenizerId: loaded.name,
    folder,
    device,
    settings,
    memory: serving.memory,
    caches: serving.caches,
    host,
    port,
    allowInsecure,
    keys: yield* TinkerServer.keys
  })
  return yield* announce(names, device, folder, onStarted).pipe(
    Layer.provide(server),
    Layer.provide(OrtWorker.layer({ device, threads })),
    Layer.launch
  )
})

export const make: MakeCommand = () =>
  Effect.succeed({
    booleans: new Set(["allow-insecure", ...limits.booleans]),
    normalizeArgs: (words: ReadonlyArray<string>) => Metrics.normalizeArgs(EngineFlags.normalizeArgs("_")(words)),
    command: Command.make(
      name,
      {
        model: Flag.String("model").pipe(
          Flag.withDescription("base model: a Hugging Face folder or hub id"),
          Flag.withMetavar("folder|id")
        ),
        name: Flag.String("name").pipe(Flag.withDescription("alias of the base model for clients"), Flag.optional),
        folder: Flag.String("folder").pipe(
          Flag.withDescription("folder for clients' checkpoints [default: .atropos/tinker]"),
          Flag.withMetavar("folder"),
          Flag.withDefault(".atropos/tinker")
        ),
        device: Flag.Literals("device", ["cpu", "webgpu", "cuda"]).pipe(
          Flag.withDescription("where the model runs [default: cpu]"),
          Flag.withDefault("cpu" as const)
        ),
        threads: Flag.Int("threads").pipe(
          Flag.filter(
            (threads) => threads >= 0,
            () => "at least 1, or 0 for one per core"
          ),
          Flag.withDescription("training threads; 0: one per core [default: 0]"),
          Flag.withDefault(0)
        ),
        host: Flag.String("host").pipe(
          Flag.withDescription(
            `address to listen on; to serve other machines, set keys in ${TinkerServer.keysSetting} [default: 127.0.0.1]`
          ),
          Flag.withDefault("127.0.0.1")
        ),
        port: Flag.Int("port").pipe(
          Flag.filter(
            (port) => port >= 0 && port <= 65_535,
            () => "a port from 0 to 65535"
          ),
          Flag.withDescription("port to listen on; 0 picks a free port [default: 9005]"),
          Flag.withDefault(9005)
        ),
        allowInsecure: Flag.Boolean("allow-insecure").pipe(
          Flag.withDescription("serve other machines without keys; only for trusted networks"),
          Flag.withDefault(false)
        ),
        memory: EngineFlags.memory,
        ...EngineFlags.caches("_"),
        limits: limits.flags,
        metrics: Metrics.telemetryFlags
      },
      ({ metrics, ...options }) =>
        serve(options).pipe(
          Metrics.tracedBy(metrics, "atropos-tinker"),
          Effect.provide([NodeServices.layer, NodeHttpClient.layerUndici]),
          Effect.mapError(Services.toFailure)
        )
    ).pipe(
      Command.withExamples([
        { command: "atropos tinker --model ./model", description: "a model in a folder, for the SDK on this machine" },
        {
          command: "atropos tinker --model Qwen/Qwen3-0.6B --port 9005 --folder ./checkpoints --max_rank 64",
          description: "a model from the hub; adapters up to rank 64"
        }
      ]),
      Command.annotate(HelpFlags.Flags, {
        advanced: Object.keys(limits.flags).filter((flag) => flag !== "max_rank")
      })
    )
  })
