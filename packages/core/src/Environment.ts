/**
 * Defines an environment: its items, how they are rolled out, and how a rollout is scored.
 *
 * An environment is a service made by a plain function, with no class to inherit. The item type is closed over: the
 * runner sees a name, settings and effects. A `score` that depends on the trajectories alone is testable by property
 * (`Laws`). Replaces the original's `BaseEnv` (atroposlib/envs/base.py); `Rollout` runs it.
 */
import { Context, Effect, Layer, type Schema, type Scope } from "effect"
import * as Settings from "./base/Settings.ts"
import * as BoundEnvironment from "./definition/BoundEnvironment.ts"
import type { Definition, EnvironmentShape } from "./definition/Definition.ts"
import * as DefinitionKeys from "./definition/DefinitionKeys.ts"
import { DefinitionFault, EnvironmentError } from "./definition/EnvironmentError.ts"
import * as EnvironmentSettings from "./definition/EnvironmentSettings.ts"
import * as UserCode from "./definition/UserCode.ts"

export type {
  Definition,
  EnvironmentShape,
  EvaluatedTrajectory,
  EvaluationDefinition,
  EvaluationWork,
  FollowUp,
  ItemStream,
  JudgedGroup,
  JudgeGroup,
  RolledOut,
  RolloutGroup,
  Rollouts,
  Solved,
  Work
} from "./definition/Definition.ts"
export type { OnlyKnown } from "./definition/DefinitionKeys.ts"
export { outsideClaims } from "./definition/Scoring.ts"
export {
  DefinitionFault,
  EnvironmentError,
  EnvironmentUnusable,
  isUnusable,
  Unscorable
} from "./definition/EnvironmentError.ts"
export type { ClaimedItem, Claims, TestableClaims, Untestable } from "./definition/Laws.ts"
export type { Judged, Score, ScoreDetails } from "./reward/Score.ts"

export class Environment extends Context.Service<Environment, EnvironmentShape>()("@atropos/core/Environment") {}

export class Environments extends Context.Service<Environments, ReadonlyArray<EnvironmentShape>>()(
  "@atropos/core/Environment/Environments"
) {}

/** Makes a layer from (partial) settings; carries metadata for registries and commands. */
export interface EnvironmentLayer<A, E, R> {
  (settings?: Partial<A>): Layer.Layer<Environment, E, R>
  readonly environmentName: string
  readonly settings: Settings.Settings<A>
  /** From snake_case settings (YAML, flags). */
  readonly fromEncoded: (settings: unknown) => Layer.Layer<Environment, E | Schema.SchemaError, R>
}

export { field, nonNegative } from "./base/Settings.ts"
export const settings = EnvironmentSettings.make

/**
 * Makes a layer of an environment: `make` gets the settings and returns the definition, whose effects may use other
 * services. What `make` acquires (a process, a connection) lives as long as the layer.
 */
export const layer = <A extends EnvironmentSettings.Common, Item, R, E1, R1, D>(
  name: string,
  settings: Settings.Settings<A>,
  // Any error types, possibly different in each function: all become the cause of an `EnvironmentError`.
  make: (settings: A) => Effect.Effect<Definition<Item, unknown, R> & D & DefinitionKeys.OnlyKnown<D>, E1, R1>
): EnvironmentLayer<A, E1 | EnvironmentError, R | Exclude<R1, Scope.Scope>> => {
  const build = (selected: A): Layer.Layer<Environment, E1 | EnvironmentError, R | Exclude<R1, Scope.Scope>> =>
    Layer.effect(
      Environment,
      Effect.gen(function* () {
        const definition = yield* UserCode.called(
          "Environment.layer's function",
          () => make(selected),
          "definition"
        ).pipe(
          Effect.tap(DefinitionKeys.check),
          Effect.tapError(UserCode.faultLogger(name)),
          Effect.catchIf(
            (error) => error instanceof DefinitionFault,
            (fault) =>
              Effect.fail(
                new EnvironmentError({
                  environment: name,
                  message: `the environment ${name}: ${fault.message}`,
                  cause: fault
                })
              )
          )
        )
        const context = yield* Effect.context<R>()
        return BoundEnvironment.make({
          name,
          settings: selected,
          encodedSettings: settings.encode(selected),
          definition,
          context
        })
      })
    )
  return Object.assign((input: Partial<A> = {}) => Layer.suspend(() => build(settings.complete(input))), {
    environmentName: name,
    settings,
    fromEncoded: (encoded: unknown) => Layer.unwrap(Effect.map(settings.decode(encoded), build))
  })
}

/** Combines several environments: `Environment.merge(Gsm8k.layer({ inferenceWeight: 2 }), Stories.layer())`. */
export const merge = <const Layers extends ReadonlyArray<Layer.Layer<Environment, unknown, unknown>>>(
  ...layers: Layers
): Layer.Layer<Environments, Layer.Error<Layers[number]>, Layer.Services<Layers[number]>> =>
  Layer.effect(
    Environments,
    // Each layer is built fresh: all provide the same tag, and two of the same environment may differ in settings.
    Effect.forEach(layers, (one) => Effect.map(Layer.build(Layer.fresh(one)), Context.get(Environment)))
  ) as Layer.Layer<Environments, Layer.Error<Layers[number]>, Layer.Services<Layers[number]>>
