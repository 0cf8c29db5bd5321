/**
 * Finds the items of an environment that stored rollouts belong to: by their stable ids, or without an id by their
 * prompt.
 *
 * Items are scanned in order until all are found, the source repeats, or the limit is reached. An item's prompt is its
 * rollout's first request to the policy, which is never answered. Items with the same prompt are ambiguous, so neither
 * matches.
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
  /** Ids of chat prefixes of rollouts without an id. */
  readonly beginnings: ReadonlySet<string>
}

export interface Found {
  readonly byId: ReadonlyMap<string, Item>
  readonly byBeginning: ReadonlyMap<string, Item | "several">
  readonly seen: number
  readonly isCut: boolean
}

/** A policy that never answers and captures its requests. */
export interface PromptCapture {
  readonly script: (request: ServerManager.ScriptedRequest) => Effect.Effect<string>
  /** The first request of an effect to the policy; none if it ends without one. */
  readonly firstPrompt: <A, E>(
    effect: Effect.Effect<A, E>
  ) => Effect.Effect<Option.Option<ReadonlyArray<Message.Message>>>
}

const patience = "10 seconds"

export const promptCapture = (): PromptCapture => {
  let prompt: Deferred.Deferred<ReadonlyArray<Message.Message>> | undefined
  return {
    script: (request) =>
      Effect.suspend(() => {
        const messages = "prompt" in request ? [{ role: "user", content: request.prompt }] : request.messages
        const notified = prompt === undefined ? Effect.void : Deferred.succeed(prompt, messages)
        return Effect.andThen(notified, Effect.never)
      }),
    firstPrompt: Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E>) {
      const deferred = yield* Deferred.make<ReadonlyArray<Message.Message>>()
      prompt = deferred
      return yield* Effect.exit(effect).pipe(
        Effect.as(Option.none<ReadonlyArray<Message.Message>>()),
        Effect.raceFirst(Effect.asSome(Deferred.await(deferred))),
        Effect.timeoutOption(patience),
        Effect.map(Option.flatten)
      )
    })
  }
}

/** This many consecutive repeated items mean that the source has no others. */
const minRepeats = 1_000

interface Candidate extends Item {
  readonly rollOut: Effect.Effect<unknown, unknown>
}

export const find = Effect.fn("Items.find")(function* (
  environment: Environment.EnvironmentShape,
  criteria: Wanted,
  { evaluationFirst, max }: { readonly max: number; readonly evaluationFirst: boolean },
  listener: PromptCapture
) {
  const byId = new Map<string, Item>()
  const byBeginning = new Map<string, Item | "several">()
  let seen = 0
  let isCut = false
  const isComplete = (): boolean => byId.size >= criteria.ids.size && byBeginning.size >= criteria.beginnings.size

  const take = Effect.fnUntraced(function* ({ id, judge, label, rollOut }: Candidate) {
    const item = { id, label, judge }
    if (criteria.ids.has(id) && !byId.has(id)) byId.set(id, item)
    if (criteria.beginnings.size === 0) return
    const prompt = yield* listener.firstPrompt(rollOut)
    if (Option.isNone(prompt)) return
    const key = Stored.beginning(prompt.value)
    if (!criteria.beginnings.has(key)) return
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
        if (taken >= max) isCut = true
        return isComplete() || taken >= max || repeats >= Math.max(minRepeats, known.size)
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
