/** `atropos policy`: serves a model over the OpenAI API, with token ids and hot swap of adapters, until stopped. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as BearerTokens from "@atropos/core/http/BearerTokens"
import * as Listening from "@atropos/core/http/Listening"
import * as LocalPath from "@atropos/core/base/system/LocalPath"
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import { OutputFormat } from "@atropos/core"
import * as Device from "@atropos/trainer/exec/Device"
import * as QuantizedWeights from "@atropos/trainer/model/QuantizedWeights"
import type * as Model from "@atropos/trainer/model/Model"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as PolicyServer from "@atropos/trainer/server/PolicyServer"
import * as PolicyLayers from "@atropos/trainer/server/PolicyLayers"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { Console, Effect, Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { HttpServer } from "effect/http"
import { UsageError } from "../base/Failure.ts"
import * as Heartbeat from "../base/Heartbeat.ts"
import * as BundledModel from "../config/BundledModel.ts"
import * as EngineFlags from "../config/EngineFlags.ts"
import * as Flags from "../config/Flags.ts"
import * as Metrics from "../config/Metrics.ts"
import * as Services from "../config/Services.ts"
import * as Pretrained from "../train/Pretrained.ts"
import * as ServingMemory from "../train/ServingMemory.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "policy"

const lora = Flags.fromFields("lora.", TrainerSettings.lora.fields)

const announce = (model: string, device: DeviceKind, swaps: boolean, onStarted: () => void) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      onStarted()
      const { address } = yield* HttpServer.HttpServer
      const url = HttpServer.formatAddress(address)
      yield* Console.log(
        [
          `policy ${model} at ${url} (${Device.describe(device)}); Ctrl-C stops it`,
          "",
          `  OpenAI clients      base_url ${url}/v1, any API key unless ATROPOS_POLICY_TOKENS is set`,
          `  environments        --openai.base_url ${url}/v1`,
          ...(swaps ? [`  trainer             --weight_sync '["policy+${url}"]'`] : []),
          `  health, metrics     ${url}/health, ${url}/metrics`
        ].join("\n")
      )
    })
  )

/** Completions sampled concurrently. */
const maxRows = 128

interface Options extends ServingMemory.Given {
  readonly model: string
  readonly adapter: Option.Option<string>
  /** The model name for clients. */
  readonly servedModelName: Option.Option<string>
  readonly quantize: "none" | QuantizedWeights.Kind
  readonly device: DeviceKind
  readonly host: string
  readonly port: number
  readonly allowInsecure: boolean
  readonly maxWaiting: number
  readonly speculativeTokens: number
  readonly weightUpdates: "pinned" | "in-flight"
  readonly toolCallFormat: OutputFormat.Setting
  readonly lora: Record<string, Option.Option<unknown>>
}

/** Names the tokenizer by the absolute path of its folder, so that clients elsewhere on this machine find it. */
const located = Effect.fnUntraced(function* (model: Model.Model) {
  const folder = yield* Effect.orElseSucceed(LocalPath.folder(model.tokenizer.name), () => Option.none<string>())
  return Option.match(folder, {
    onNone: () => model,
    onSome: (name) => ({ ...model, tokenizer: { ...model.tokenizer, name } })
  })
})

const serve = Effect.fn("policy.serve")((options: Options) =>
  Heartbeat.untilStarted(`loading ${options.model}`, (onStarted) => load(options, onStarted))
)

const load = Effect.fnUntraced(function* (options: Options, onStarted: () => void) {
  const { adapter, allowInsecure, device, host, port } = options
  const quantize = options.quantize === "none" ? undefined : options.quantize
  if (quantize !== undefined && device !== "cpu") {
    return yield* new UsageError({
      message: `--quantize ${quantize} runs on the CPU only: remove --device ${device}`
    })
  }
  yield* Pretrained.check(options.model)
  yield* Listening.check({ host, port })
  const place = BundledModel.located(options.model)
  const serving = ServingMemory.choose(options, device)
  const check = ServingMemory.check(options.model, {
    ...serving,
    device,
    quantize: options.quantize,
    maxRows,
    separator: "-"
  })
  const loaded = Option.isSome(adapter)
    ? yield* PretrainedModel.loadAdapter(place, adapter.value, quantize, check)
    : yield* PretrainedModel.load(place, {
        trains: yield* TrainerSettings.lora.decode(Flags.provided(options.lora)),
        seed: 0,
        quantize,
        check
      })
  const found = yield* located(yield* BundledModel.named(loaded, options.model))
  const model = { ...found, name: Option.getOrElse(options.servedModelName, () => found.name) }
  const settings = {
    maxRows,
    maxWaiting: options.maxWaiting,
    speculativeTokens: options.speculativeTokens,
    weightUpdates: EngineFlags.updatesOf(options.weightUpdates),
    ...serving.caches
  }
  const server = PolicyServer.layer({
    ...PolicyLayers.served(model),
    toolCallFormat: options.toolCallFormat,
    host,
    port,
    allowInsecure,
    tokens: yield* BearerTokens.configured(PolicyServer.tokensSetting),
    readAdapter: yield* PolicyLayers.readAdapter(model)
  })
  return yield* announce(model.name, device, model.adapter !== undefined, onStarted).pipe(
    Layer.provide(server),
    Layer.provide(PolicyLayers.layerEngine(model, { device, settings })),
    Layer.launch
  )
})

export const make: MakeCommand = () =>
  Effect.succeed({
    booleans: new Set(["allow-insecure", ...lora.booleans]),
    normalizeArgs: (words: ReadonlyArray<string>) =>
      Metrics.normalizeArgs(EngineFlags.normalizeArgs("-")(words)).map((word) =>
        word.replace(/^--served_model_name(?==|$)/, "--served-model-name")
      ),
    command: Command.make(
      name,
      {
        model: Flag.String("model").pipe(
          Flag.withDescription(
            "model: a Hugging Face folder or hub id; or bundled, the small model that comes with Atropos"
          ),
          Flag.withMetavar("folder|id")
        ),
        adapter: Flag.String("adapter").pipe(
          Flag.withDescription("PEFT folder of the initial adapter; all later adapters must have the same rank"),
          Flag.withMetavar("folder"),
          Flag.optional
        ),
        servedModelName: Flag.String("served-model-name").pipe(
          Flag.withDescription("name of the model for clients, as in vLLM [default: the value of --model]"),
          Flag.withMetavar("name"),
          Flag.optional
        ),
        quantize: Flag.Literals("quantize", ["none", ...QuantizedWeights.kinds]).pipe(
          Flag.withDescription(
            "quantize frozen weights of linear layers to 8 or 4 bits, like the trainer's; on the CPU only [default: none]"
          ),
          Flag.withDefault("none" as const)
        ),
        device: Flag.Literals("device", ["cpu", "webgpu", "cuda"]).pipe(
          Flag.withDescription("where the model runs [default: cpu]"),
          Flag.withDefault("cpu" as const)
        ),
        host: Flag.String("host").pipe(
          Flag.withDescription(
            "address to listen on; to serve other machines, set tokens in ATROPOS_POLICY_TOKENS [default: 127.0.0.1]"
          ),
          Flag.withDefault("127.0.0.1")
        ),
        port: Flag.Int("port").pipe(
          Flag.filter(
            (port) => port >= 0 && port <= 65_535,
            () => "a port from 0 to 65535"
          ),
          // The default address of environments without a configured server.
          Flag.withDescription("port to listen on; 0 picks a free port [default: 9004]"),
          Flag.withDefault(9004)
        ),
        allowInsecure: Flag.Boolean("allow-insecure").pipe(
          Flag.withDescription("serve other machines without tokens; only for trusted networks"),
          Flag.withDefault(false)
        ),
        maxWaiting: Flag.Int("max-waiting").pipe(
          Flag.filter(
            (rows) => rows > 0,
            () => "at least 1"
          ),
          Flag.withDescription("max waiting completions; excess requests must be retried later [default: 1024]"),
          Flag.withDefault(1024)
        ),
        ...EngineFlags.sampling("-", "a new adapter arrives"),
        memory: EngineFlags.memory,
        ...EngineFlags.caches("-"),
        toolCallFormat: Flag.Literals("tool-call-format", OutputFormat.Setting.literals).pipe(
          Flag.withDescription("format of tool calls and thinking; auto: from the chat template [default: auto]"),
          Flag.withDefault("auto" as const)
        ),
        lora: lora.flags,
        metrics: Metrics.telemetryFlags
      },
      ({ metrics, ...options }) =>
        serve(options).pipe(
          Metrics.tracedBy(metrics, "atropos-policy"),
          Effect.provide([NodeServices.layer, NodeHttpClient.layerUndici]),
          Effect.mapError(Services.toFailure)
        )
    ).pipe(
      Command.withExamples([
        { command: "atropos policy --model Qwen/Qwen2.5-0.5B-Instruct", description: "a model from the hub" },
        {
          command: "atropos policy --model ./model --adapter ./trained_model_checkpoints/step_100 --port 9004",
          description: "a model with its trained adapter"
        }
      ])
    )
  })
