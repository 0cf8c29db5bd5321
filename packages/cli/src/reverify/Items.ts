/**
 * The items of an environment that stored rollouts are of: by their lasting ids, and where a rollout has none, by what
 * they ask.
 *
 * An environment gives its items in order and without end, so they are gone through from the first one until all that
 * are looked for are found, the source repeats itself, or the limit is reached. What an item asks is what its rollout
 * asks a policy first, to which nobody answers: the rollout ends there. Two items that ask the same are told apart by
 * nothing, so neither is taken.
 */
import { Environment, type Message, type ServerManager } from "@atropos/core"
import { Deferred, Effect, Option, Stream } from "effect"
import * as Stored from "./Stored.ts"

export interface Item {
  readonly id: string
  readonly label: string
  readonly judge: Environment.JudgeGroup
}

export interface Wanted {
  readonly ids: ReadonlySet<string>
  /** Ids of beginnings of chats, of rollouts without an id. */
  readonly beginnings: ReadonlySet<string>
}

export interface Found {
  readonly byId: ReadonlyMap<string, Item>
  readonly byBeginning: ReadonlyMap<string, Item | "several">
  /** Items gone through. */
  readonly seen: number
  /** Whether there may be more of them. */
  readonly isCut: boolean
}

/** A policy that never answers, and what it is asked. */
export interface Listener {
  readonly script: (request: ServerManager.ScriptedRequest) => Effect.Effect<string>
  /** What an effect asks the policy first; none where it ends without asking. */
  readonly hear: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<Option.Option<ReadonlyArray<Message.Message>>>
}

const patience = "10 seconds"

export const listener = (): Listener => {
  let asked: Deferred.Deferred<ReadonlyArray<Message.Message>> | undefined
  return {
    script: (request) =>
      Effect.suspend(() => {
        const messages = "prompt" in request ? [{ role: "user", content: request.prompt }] : request.messages
        const told = asked === undefined ? Effect.void : Deferred.succeed(asked, messages)
        return Effect.andThen(told, Effect.never)
      }),
    hear: Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E>) {
      const deferred = yield* Deferred.make<ReadonlyArray<Message.Message>>()
      asked = deferred
      return yield* Effect.exit(effect).pipe(
        Effect.as(Option.none<ReadonlyArray<Message.Message>>()),
        Effect.raceFirst(Effect.asSome(Deferred.await(deferred))),
        Effect.timeoutOption(patience),
        Effect.map(Option.flatten)
      )
    })
  }
}

/** So many items in a row that have all been there mean that the source has no others. */
const fewestRepeats = 1_000

interface Candidate extends Item {
  readonly rollOut: Effect.Effect<unknown, unknown>
}

export const find = Effect.fn("Items.find")(function* (
  environment: Environment.EnvironmentShape,
  wanted: Wanted,
  { evaluationFirst, most }: { readonly most: number; readonly evaluationFirst: boolean },
  listener: Listener
) {
  const byId = new Map<string, Item>()
  const byBeginning = new Map<string, Item | "several">()
  let seen = 0
  let isCut = false
  const isComplete = (): boolean => byId.size >= wanted.ids.size && byBeginning.size >= wanted.beginnings.size

  const take = Effect.fnUntraced(function* ({ id, judge, label, rollOut }: Candidate) {
    const item = { id, label, judge }
    if (wanted.ids.has(id) && !byId.has(id)) byId.set(id, item)
    if (wanted.beginnings.size === 0) return
    const asked = yield* listener.hear(rollOut)
    if (Option.isNone(asked)) return
    const key = Stored.beginning(asked.value)
    if (!wanted.beginnings.has(key)) return
    const known = byBeginning.get(key)
    byBeginning.set(key, known === undefined || (known !== "several" && known.id === id) ? item : "several")
  })

  const walk = (items: Stream.Stream<Candidate, Environment.EnvironmentError>) =>
    Effect.suspend(() => {
      if (isComplete()) return Effect.void
      const known = new Set<string>()
      let repeats = 0
      let taken = 0
      const each = Effect.fnUntraced(function* (item: Candidate) {
        taken++
        if (known.has(item.id)) repeats++
        else {
          repeats = 0
          known.add(item.id)
          seen++
          yield* take(item)
        }
        if (taken >= most) isCut = true
        return isComplete() || taken >= most || repeats >= Math.max(fewestRepeats, known.size)
      })
      return items.pipe(Stream.mapEffect(each), Stream.takeUntil(Boolean), Stream.runDrain)
    })

  const training = walk(environment.work(0))
  const evaluation = Option.match(environment.evaluation, {
    onNone: () => Effect.void,
    onSome: (items) => walk(Stream.map(items, ({ evaluate, ...item }) => ({ ...item, rollOut: evaluate })))
  })
  for (const one of evaluationFirst ? [evaluation, training] : [training, evaluation]) yield* one
  return { byId, byBeginning, seen, isCut } satisfies Found
})
