/**
 * Runs environments: rolls out their items, judges, filters and sends the groups, evaluates, and survives crashes.
 *
 * Guarantees: an item is done only once the service has answered for its groups, so a crash loses none; a group is
 * stored once however often it is rolled out again; a failing item, service or other environment stops nothing else; a
 * full queue never cancels rollouts in progress. Service, trainer and environments may start in any order. Replaces
 * `serve` of the original (atroposlib/envs/base.py, `env_manager`).
 *
 * State and keys are named after the environment (`wandb_name`, or its own name): concurrent processes need different
 * names.
 */
import { Context, Effect, Exit, Fiber, type FileSystem, Layer, type Path } from "effect"
import { type EnvironmentShape, Environments } from "../Environment.ts"
import * as Concurrency from "./Concurrency.ts"
import { defaults, type Options, RolloutError, type Summary } from "./Options.ts"
import * as Reason from "../base/Reason.ts"
import * as InferenceShare from "./InferenceShare.ts"
import * as Runner from "./Runner.ts"
import { ServerManager } from "../inference/ServerManager.ts"
import type { EnvironmentClient } from "../service/EnvironmentClient.ts"
import type { TelemetryClient } from "../service/TelemetryClient.ts"

export { type Options, RolloutError, type Summary }

type Needs = EnvironmentClient | TelemetryClient | ServerManager | FileSystem.FileSystem | Path.Path

/**
 * Runs one environment until its steps or items are done; when interrupted, it stops cleanly: sends or spools, saves,
 * disconnects.
 */
export const run = (
  environment: EnvironmentShape,
  options: Options = {}
): Effect.Effect<Summary, RolloutError, Needs> =>
  Effect.provideServiceEffect(
    Runner.run(environment, nameOf(environment), { ...defaults, ...options }),
    InferenceShare.InferenceShare,
    InferenceShare.make
  )

/**
 * Runs several environments concurrently, each with its own registration. Each fills a share of the batches
 * proportional to its weight among those running, and at least its reserved share. One that fails is reported and the
 * others continue; the whole fails only if all have failed.
 */
export const runAll = Effect.fn("Rollout.runAll")(function* (
  environments: ReadonlyArray<EnvironmentShape>,
  options: Options = {}
) {
  const running = new Set(environments)
  let parts = new Map<EnvironmentShape, Concurrency.Part>()
  // Read at every change of the queue, but changed only when an environment leaves.
  const divide = () => {
    const left = [...running]
    const made = Concurrency.partsOf(left.map(({ settings }) => settings))
    parts = new Map(left.map((environment, index) => [environment, made[index]!]))
  }
  divide()
  const leave = (environment: EnvironmentShape) => {
    running.delete(environment)
    divide()
  }
  const exits = yield* Effect.forEach(
    uniqueNames(environments),
    ({ environment, name }) =>
      Runner.run(
        environment,
        name,
        { ...defaults, ...options },
        () => parts.get(environment) ?? Concurrency.whole
      ).pipe(
        Effect.ensuring(Effect.sync(() => leave(environment))),
        Effect.tapCause((cause) =>
          Effect.logError("environment failed", { environment: name, reason: Reason.ofCause(cause) })
        ),
        Effect.exit
      ),
    { concurrency: "unbounded" }
  ).pipe(Effect.provideServiceEffect(InferenceShare.InferenceShare, InferenceShare.make))
  const failures = exits.filter(Exit.isFailure)
  if (failures.length === 1 && exits.length === 1) return yield* Effect.failCause(failures[0]!.cause)
  if (failures.length > 0 && failures.length === exits.length) {
    return yield* new RolloutError({
      environment: environments.map(nameOf).join(", "),
      reason: "all",
      message: `all ${failures.length} environments failed: ${failures.map(({ cause }) => Reason.ofCause(cause)).join("; ")}`
    })
  }
  return exits.filter(Exit.isSuccess).map(({ value }): Summary => value)
})

/** The running environments of a program; `summaries` waits for their end. */
export class Rollout extends Context.Service<
  Rollout,
  { readonly summaries: Effect.Effect<ReadonlyArray<Summary>, RolloutError> }
>()("@atropos/core/Rollout") {}

/** Runs all `Environments` while the layer lives; closing it stops them cleanly. */
export const layer = (options: Options = {}): Layer.Layer<Rollout, never, Environments | Needs> =>
  Layer.effect(
    Rollout,
    Effect.gen(function* () {
      const environments = yield* Environments
      const running = yield* Effect.forkScoped(runAll(environments, options))
      return { summaries: Fiber.join(running) }
    })
  )

const nameOf = ({ name, settings }: EnvironmentShape): string => settings.wandbName ?? name

/** Gives several instances of one environment different names, stable across restarts. */
const uniqueNames = (environments: ReadonlyArray<EnvironmentShape>) => {
  const seen = new Map<string, number>()
  return environments.map((environment) => {
    const name = nameOf(environment)
    const number = (seen.get(name) ?? 0) + 1
    seen.set(name, number)
    return { environment, name: number === 1 ? name : `${name}-${number}` }
  })
}
