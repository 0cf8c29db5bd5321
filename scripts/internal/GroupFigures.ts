/**
 * Generates the group figures of docs/environments.md: each environment with its `FigureWorld`, seed 0, and all other
 * servers in this process or on its loopback.
 */
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { Judge, MathVerifier, Opponent, registry, Sandbox, Teacher } from "@atropos/envs"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Jail from "../../packages/envs/src/sandbox/Jail.ts"
import { Effect, Layer, Result, type Schema } from "effect"
import * as Python from "../../packages/core/test/Python.ts"
import * as FigureServers from "./FigureServers.ts"
import { type World, worlds } from "./FigureWorld.ts"
import * as GroupFigure from "./GroupFigure.ts"
import * as GroupRollout from "./GroupRollout.ts"

interface Runnable {
  readonly settings: { readonly fields: Schema.Struct.Fields }
  readonly fromEncoded: (settings: unknown) => Layer.Layer<Environment.Environment, unknown, Services>
}

type Services = Layer.Success<ReturnType<typeof services>>

const maxRollouts = 3

const services = (policy: Layer.Layer<ServerManager.ServerManager>) =>
  Layer.mergeAll(
    policy,
    Dataset.layer,
    MathVerifier.layer(),
    Judge.layerScripted(FigureServers.judge),
    // Gives every token even odds.
    Layer.provide(Teacher.layerNoDeps, Layer.fresh(ServerManager.layerScripted([""]))),
    Opponent.layerScripted(FigureServers.customer),
    Sandbox.layer({ maxMillis: 60_000 }),
    NodeHttpClient.layerUndici
  ).pipe(Layer.provideMerge(Layer.mergeAll(Tokenizer.layerBytes, NodeServices.layer)))

const command = ({ pythonPath }: World): string =>
  pythonPath === undefined ? Python.interpreter : `env 'PYTHONPATH=${pythonPath}' ${Python.interpreter}`

/** The Python module that an environment needs; undefined if none. */
export const pythonOf = (name: string): string | undefined => worlds[name]?.python

/** Why an environment's figure cannot be generated on this machine; undefined if it can. */
export const absence = (name: string): string | undefined => {
  const python = pythonOf(name)
  if (python !== undefined && !Python.having(python).isPresent) return `${Python.interpreter} cannot import ${python}`
  return name === "harbor" && Result.isFailure(Result.try(Jail.bubblewrap)) ? "there is no bubblewrap" : undefined
}

export const make = Effect.fn("GroupFigures.make")(function* (name: string) {
  const { layer } = (registry as unknown as { readonly [name: string]: { readonly layer: Runnable } })[name]!
  const world: World = worlds[name] ?? {}
  const { fields } = layer.settings
  const settings = {
    ...("seed" in fields && { seed: 0 }),
    ...(world.python !== undefined && { python: command(world) }),
    ...("rewardUrl" in fields && { reward_url: `${yield* FigureServers.rewards}/reward` }),
    ...(world.isServed === true && { url: yield* FigureServers.openEnv }),
    ...world.settings
  }
  const groups = yield* GroupRollout.groups(
    (policy, size) => layer.fromEncoded({ group_size: size, ...settings }).pipe(Layer.provide(services(policy))),
    maxRollouts,
    world.rollouts
  )
  const note = world.note ?? (groups.length > 1 ? `The first of ${groups.length} groups of this item.` : undefined)
  return GroupFigure.make(groups[0]!, note)
}, Effect.scoped)
