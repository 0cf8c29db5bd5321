/** `atropos up` (and `npm start`): the closed loop in one process, with live figures and a link. */
import { Docs } from "@atropos/core"
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as CommandLine from "../CommandLine.ts"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as Environments from "../config/Environments.ts"
import * as Flags from "../config/Flags.ts"
import * as Metrics from "../config/Metrics.ts"
import * as OtherServers from "../config/OtherServers.ts"
import * as RunSettings from "../config/RunSettings.ts"
import * as Services from "../config/Services.ts"
import * as TrainerRun from "../config/TrainerRun.ts"
import * as Words from "../config/Words.ts"
import * as Summary from "../job/Summary.ts"
import * as Table from "../Table.ts"
import * as Curve from "../up/Curve.ts"
import * as Recipe from "../up/Recipe.ts"
import * as Up from "../up/Up.ts"
import type { MakeVerb } from "./Verb.ts"

const name: string = "up"
const usual = "sort-letters"

const report = ({ after, before, curve, run, seconds }: Up.UpResult) =>
  Effect.gen(function* () {
    const { rewards, sequences, tokens } = curve
    const best = Curve.best(rewards)
    const solved = Option.zipWith(before, after, (first, last) => [
      ["held-out items solved", `${Curve.showSolved(first)} before, ${Curve.showSolved(last)} after`] as const
    ])
    yield* Console.log("")
    yield* Console.log(
      Summary.print([
        ["run", `${run.name}, ${rewards.length} steps in ${Summary.time(seconds * 1000)}`],
        [
          "mean reward",
          `${Curve.early(rewards).toFixed(3)} at the start, ${Curve.recent(rewards).toFixed(3)} at the end; best ${best.value.toFixed(3)} at step ${run.done + best.step}`
        ],
        ["", Curve.sparkline(rewards)],
        ...Option.getOrElse(solved, () => []),
        ["trained on", `${sequences.toLocaleString("en-US")} sequences, ${tokens.toLocaleString("en-US")} tokens`],
        ["checkpoints and figures", run.folder]
      ])
    )
    yield* Console.log(
      [
        "",
        "next:",
        Table.pairs([
          [CommandLine.of("api"), "its curves and rollouts in the browser, at /ui"],
          [CommandLine.of("up --env addition"), "a harder task"],
          [CommandLine.of("envs"), "environments there are"],
          [CommandLine.of("process --env arithmetic-stories --testing"), "rollouts to a file, no service"],
          [Docs.path("training.md"), "your own model, and a GPU"],
          [Docs.path("writing-an-environment.md"), "an environment of your own"]
        ]).replace(/^/gm, "  ")
      ].join("\n")
    )
  })

export const make: MakeVerb = (words) =>
  Effect.gen(function* () {
    const word = Words.peek(words, "env") ?? usual
    const chosen = yield* Environments.choose(word)
    const env = Flags.fromFields("env.", chosen.environment.settings.fields)
    const others = OtherServers.flags(chosen)
    const kitchen = Recipe.kitchens[chosen.environment.environmentName]
    const command = Command.make(
      name,
      {
        env: Flag.String("env").pipe(
          Flag.withDescription(`environment: a name or a file [default: ${usual}]`),
          Flag.withMetavar("name|file"),
          Flag.withDefault(usual)
        ),
        config: ConfigFile.flag,
        host: Flag.String("host").pipe(
          Flag.withDescription("address the service listens on [default: 127.0.0.1]"),
          Flag.withDefault("127.0.0.1")
        ),
        port: Flags.port("port the service listens on; another one if it is taken"),
        policyPort: Flags.port(
          "port the policy is served on, where environments look first; another one if it is taken, 0: any",
          9004,
          "policy_port"
        ),
        stepsAhead: Flag.Int("steps_ahead").pipe(
          Flag.withDescription(
            "steps that sampling may be ahead of training; 0: on policy, and the same seed gives the same run [default: 0]"
          ),
          Flag.filter(
            (steps) => steps >= 0,
            () => "0 or more"
          ),
          Flag.withDefault(0)
        ),
        fresh: Flag.Boolean("fresh").pipe(
          Flag.withDescription("starts a new run where an unfinished one could be gone on with"),
          Flag.withDefault(false)
        ),
        settings: env.flags,
        others: others.flags,
        trainer: TrainerRun.flags.trainer,
        lora: TrainerRun.flags.lora,
        loss: TrainerRun.flags.loss,
        metrics: Metrics.flags
      },
      (input) =>
        Effect.gen(function* () {
          const { config, fresh, host, policyPort, port, stepsAhead } = input
          const flagged = Flags.given(input.trainer)
          // A recipe is one model's: what suits it does not suit another.
          const recipeOf = (sections: ConfigFile.ConfigFile["sections"]) =>
            TrainerRun.isGiven({ file: sections, given: input }, "model") ? undefined : kitchen
          // One seed for all that is drawn, unless the environment is told another.
          const hasSeed = "seed" in chosen.environment.settings.fields
          const settings = yield* RunSettings.make(
            word,
            chosen,
            {
              config,
              env: Flags.given(input.settings),
              servers: OtherServers.given(input.others),
              manager: {}
            },
            (sections) => ({
              ...(recipeOf(sections)?.env ?? Recipe.ownModel.env),
              ...("seed" in flagged && hasSeed && { seed: flagged["seed"] })
            })
          )
          const own = recipeOf(settings.sections)
          const trainer = yield* TrainerRun.make({
            mode: { trainer: own?.trainer ?? {}, loss: own?.loss ?? {} },
            file: settings.sections,
            given: input
          })
          const recipe = own === undefined ? Option.none() : Option.some(yield* own.make(settings.given))
          const isSeqLenGiven = TrainerRun.isGiven({ file: settings.sections, given: input }, "seq_len")
          const metrics = yield* Metrics.make(input.metrics, settings.sections["metrics"])
          const result = yield* Up.run({
            settings,
            trainer,
            metrics,
            recipe,
            isSeqLenGiven,
            stepsAhead,
            fresh,
            host,
            port,
            policyPort
          })
          yield* report(result)
        }).pipe(Effect.mapError(Services.toFailure))
    ).pipe(
      Command.withExamples([
        { command: "atropos up", description: "a small model learns to sort letters" },
        { command: "atropos up --env addition --seed 2", description: "a harder task, another seed" },
        {
          command: "atropos up --env arithmetic-stories --model ./my-model --steps 20 --env.max_token_length 256",
          description: "an adapter on a model of your own, with short answers"
        }
      ])
    )
    return {
      command,
      booleans: new Set([...env.booleans, ...others.booleans, ...TrainerRun.booleans, ...Metrics.booleans, "fresh"]),
      spell: (words: ReadonlyArray<string>) => Metrics.spell(TrainerRun.spell(words))
    }
  })
