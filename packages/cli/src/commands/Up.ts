/** `atropos up` (and `npm start`): runs the closed loop in one process, with live metrics and a link to the viewer. */
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import { Array as Arr, Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as BundledModel from "../config/BundledModel.ts"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as EngineFlags from "../config/EngineFlags.ts"
import * as Environments from "../config/Environments.ts"
import * as Flags from "../config/Flags.ts"
import * as Metrics from "../config/Metrics.ts"
import * as OtherServers from "../config/OtherServers.ts"
import * as RunSettings from "../config/RunSettings.ts"
import * as SamplerFlags from "../config/SamplerFlags.ts"
import * as Services from "../config/Services.ts"
import * as TrainerRun from "../config/TrainerRun.ts"
import * as Words from "../config/Words.ts"
import { UsageError } from "../base/Failure.ts"
import * as Terminal from "../base/Terminal.ts"
import * as Pretrained from "../train/Pretrained.ts"
import * as RemoteEngine from "../train/RemoteEngine.ts"
import * as TorchRun from "../train/TorchRun.ts"
import * as Mixture from "../up/Mixture.ts"
import * as OwnRecipe from "../up/OwnRecipe.ts"
import * as Recipe from "../up/Recipe.ts"
import * as Sampling from "../up/Sampling.ts"
import * as Scratch from "../up/Scratch.ts"
import * as Up from "../up/Up.ts"
import * as UpReport from "../up/UpReport.ts"
import * as HelpFlags from "../help/HelpFlags.ts"
import * as EnvironmentCommand from "./EnvironmentCommand.ts"
import type { MakeCommand } from "./CliCommand.ts"

/** Settings it ignores: all parts run in this process, and it picks the run folders itself. */
const ignored = [
  ...["batch_size", "rollout_server_url", "tokenizer_name", "total_steps"].map((setting) => `env.${setting}`),
  "run",
  "atropos_url",
  "save_path",
  // Every sequence of its environments states how it was sampled.
  "temperature"
]

/** Flags that few runs in one process need. */
const advanced = ["host", "weight_sync", "env.data_dir_to_save_evals", ...SamplerFlags.advanced]

const name: string = "up"
const defaultEnvironment = "sort-letters"

/** The recipe of an environment: built in, or exported by its file. */
const definitionOf = Effect.fnUntraced(function* ({ selected, word }: Environments.Named) {
  const builtIn = Recipe.definitions[selected.environment.environmentName]
  if (selected.recipe !== undefined) return Option.some<Recipe.Definition>(yield* OwnRecipe.definition(word, selected))
  return selected.about === undefined || builtIn === undefined ? Option.none<Recipe.Definition>() : Option.some(builtIn)
})

/**
 * The recipes for a model from scratch, one per environment; undefined for a pretrained model, since a recipe only
 * suits its own model.
 */
const definitionsFor = (
  model: unknown,
  engine: unknown,
  known: Arr.NonEmptyReadonlyArray<Option.Option<Recipe.Definition>>
): Arr.NonEmptyReadonlyArray<Recipe.Definition> | undefined =>
  (engine === undefined || engine === RemoteEngine.local) &&
  (model === Recipe.scratch || (model === undefined && known.every(Option.isSome)))
    ? Arr.map(
        known,
        Option.getOrElse(() => Scratch.definition)
      )
    : undefined

/** The environment's settings for the bundled model if that is trained; otherwise the defaults for any model. */
const ownOf = (
  model: unknown,
  { selected }: Environments.Named,
  steps: unknown
): Pick<Recipe.Bundled, "env" | "trainer"> & Partial<Recipe.Bundled> =>
  (model === BundledModel.word ? Recipe.bundled[selected.environment.environmentName] : undefined) ??
  Recipe.ownModel(steps === undefined ? undefined : Number(steps))

/** Fails if another engine than the local one cannot train this, or if no model is named for it. */
const checkEngine = Effect.fnUntraced(function* (settings: TrainerSettings, isModelGiven: boolean, isVllm: boolean) {
  const { engine, model, trains } = settings.trainer
  if (isVllm && engine !== RemoteEngine.torch) {
    return yield* new UsageError({
      message: `--sampler vllm works with --engine torch only, not with --engine ${engine}`
    })
  }
  if (engine === RemoteEngine.local) return
  const isTorch = TorchRun.isAsked(settings)
  yield* isTorch ? TorchRun.check(settings) : RemoteEngine.check(settings)
  if (isTorch && trains === "all" && !isVllm) {
    return yield* new UsageError({
      message: `--engine ${engine} --trains all: up samples with the local engine, which takes adapters only; train an adapter, or sample with --sampler vllm`
    })
  }
  if (isModelGiven && model !== Recipe.scratch) return
  return yield* new UsageError({
    message: `--engine ${engine} needs --model: folder or hub id of a model${isTorch ? "" : " of the server"}`
  })
})

/** Runs before a service and a run exist. */
const checkModel = Effect.fnUntraced(function* ({ trainer: { model } }: TrainerSettings, isGiven: boolean) {
  yield* Pretrained.check(model, { [Recipe.scratch]: "a model from scratch for the environment" })
  if (isGiven) return
  yield* Console.log(
    `no --model given: using ${model} from the hub; --model ${Recipe.scratch} trains a small model from scratch instead`
  )
})

const ownFlags = {
  env: Flag.String("env").pipe(
    Flag.withDescription(
      `environment: a name or a file; repeat for several, with weights: --env a --env ./b.ts:2 [default: ${defaultEnvironment}]`
    ),
    Flag.withMetavar("name|file[:weight]"),
    Flag.atLeast(0)
  ),
  config: ConfigFile.flag,
  host: Flag.String("host").pipe(
    Flag.withDescription("address the service listens on [default: 127.0.0.1]"),
    Flag.withDefault("127.0.0.1")
  ),
  port: Flags.port("port of the service; if in use, another one"),
  policyPort: Flags.port("port of the policy server; if in use, another one; 0: any free port", 9004, "policy_port"),
  stepsAhead: Flag.Int("steps_ahead").pipe(
    Flag.withDescription(
      "max steps that sampling runs ahead of training; 0: on-policy, reproducible with the same seed [default: 0, or max_staleness with on_stale wait]"
    ),
    Flag.filter(
      (steps) => steps >= 0,
      () => "0 or more"
    ),
    Flag.optional
  ),
  ...SamplerFlags.flags,
  ...EngineFlags.sampling("_", "new weights arrive"),
  fresh: Flag.Boolean("fresh").pipe(
    Flag.withDescription("start a new run instead of resuming an unfinished one"),
    Flag.withDefault(false)
  ),
  exit: Flag.Boolean("exit").pipe(
    Flag.withDescription("exit after the last step; otherwise, on a terminal, the viewer stays up until Ctrl-C"),
    Flag.withDefault(false)
  )
}

const examples: ReadonlyArray<Command.Command.Example> = [
  { command: "atropos up", description: "a small model learns to sort letters" },
  { command: "atropos up --env addition --seed 2", description: "a harder task with another seed" },
  {
    command: "atropos up --env arithmetic-stories --model ./my-model --steps 20 --env.max_token_length 256",
    description: "an adapter for your own model, with short answers"
  },
  {
    command: "atropos up --env gsm8k --engine tinker+https://tinker.example.com --model Qwen/Qwen3-8B",
    description: "the same on a Tinker server (key in TINKER_API_KEY)"
  }
]

export const make: MakeCommand = (words) =>
  Effect.gen(function* () {
    const source = Words.argValues(words, "env")
    const named = yield* Environments.chooseAll(Arr.isReadonlyArrayNonEmpty(source) ? source : [defaultEnvironment])
    const all = named.map(({ selected }) => selected)
    const known = yield* Effect.forEach(named, definitionOf)
    // For `--help`: the content of a config file is not known there.
    const helpDefinitions = definitionsFor(Words.argValue(words, "model"), Words.argValue(words, "engine"), known)
    const own = ownOf(Words.argValue(words, "model"), named[0], undefined)
    const env = Flags.fromFields("env.", Environments.fieldsOf(all), helpDefinitions?.[0]?.env ?? own.env)
    const others = OtherServers.flags(all)
    const command = Command.make(
      name,
      {
        ...ownFlags,
        settings: env.flags,
        others: others.flags,
        ...TrainerRun.flags(helpDefinitions === undefined ? own : Mixture.settingsOf(helpDefinitions)),
        metrics: Metrics.flags
      },
      (input) =>
        Effect.gen(function* () {
          const { config, exit, fresh, host, policyPort, port } = input
          const flagged = Flags.provided(input.trainer)
          const valueOf = (sections: ConfigFile.ConfigFile["sections"], setting: string) =>
            TrainerRun.valueOf({ file: sections, input }, setting)
          const definitionsOf = (sections: ConfigFile.ConfigFile["sections"]) =>
            definitionsFor(valueOf(sections, "model"), valueOf(sections, "engine"), known)
          const settings = yield* Effect.forEach(named, ({ selected, weight, word }, index) => {
            // One seed for all random draws, unless the environment has its own.
            const hasSeed = "seed" in selected.environment.settings.fields
            return RunSettings.make(
              word,
              selected,
              {
                config,
                env: {
                  ...Flags.provided(input.settings),
                  ...Option.match(weight, { onNone: () => ({}), onSome: (value) => ({ inference_weight: value }) })
                },
                servers: OtherServers.provided(input.others),
                manager: {}
              },
              (sections) => ({
                ...(definitionsOf(sections)?.[index]?.env ??
                  ownOf(valueOf(sections, "model"), named[index]!, undefined).env),
                ...("seed" in flagged && hasSeed && { seed: flagged["seed"] })
              }),
              all
            )
          })
          yield* EnvironmentCommand.warnIgnored(name, words, ignored)
          const { sections } = settings[0]
          const definitions = definitionsOf(sections)
          const mine = ownOf(valueOf(sections, "model"), named[0], valueOf(sections, "training_steps"))
          const mode = definitions === undefined ? mine : Mixture.settingsOf(definitions)
          const trainer = yield* TrainerRun.make({ mode, file: sections, input })
          const recipe =
            definitions === undefined
              ? Option.none()
              : Option.some(
                  Mixture.recipeOf(
                    yield* Effect.forEach(Arr.zip(settings, definitions), ([one, definition]) => definition.make(one))
                  )
                )
          const stepsAhead = yield* Sampling.stepsAheadOf(trainer, input.stepsAhead)
          const isModelGiven = TrainerRun.isGiven({ file: sections, input }, "model")
          const vllm = yield* SamplerFlags.vllmOf(input)
          yield* checkEngine(trainer, isModelGiven, vllm !== undefined)
          const sampling = yield* Sampling.of(trainer, input, stepsAhead, vllm !== undefined)
          if (definitions === undefined) yield* checkModel(trainer, isModelGiven)
          const metrics = yield* Metrics.make(input.metrics, sections["metrics"])
          yield* Up.run({
            settings,
            trainer,
            metrics,
            recipe,
            isSeqLenGiven: TrainerRun.isGiven({ file: sections, input }, "seq_len"),
            areStepsGiven: TrainerRun.isGiven({ file: sections, input }, "training_steps"),
            stepsAhead,
            sampling,
            vllm,
            fresh,
            host,
            port,
            policyPort,
            stays: !exit && (yield* Terminal.Footer).isWatched,
            onResult: UpReport.print
          })
        }).pipe(Effect.mapError(Services.toFailure))
    ).pipe(
      Command.withExamples(examples),
      Command.annotate(HelpFlags.Flags, { ignored, advanced, everyEnvironments: EnvironmentCommand.everyEnvironments })
    )
    return {
      command,
      booleans: new Set([
        ...env.booleans,
        ...others.booleans,
        ...TrainerRun.booleans,
        ...Metrics.booleans,
        "fresh",
        "exit"
      ]),
      normalizeArgs: (words: ReadonlyArray<string>) =>
        Metrics.normalizeArgs(TrainerRun.normalizeArgs(EngineFlags.normalizeArgs("_")(words)))
    }
  })
