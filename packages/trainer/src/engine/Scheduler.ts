/**
 * The engine's state and its step: what runs, on which weights, and what happens between two runs of the model.
 *
 * A step lets requests begin where there is room, takes one batch of prompts a piece further, and samples one token for
 * every running choice, weights by weights. Commands are carried out between steps. Knows neither threads nor tensors
 * of a runtime.
 */
import { Clock, Effect } from "effect"
import type { ExecutorError } from "../exec/Executor.ts"
import { Admission } from "./Admission.ts"
import * as CounterRandom from "../base/CounterRandom.ts"
import type { ModelRunner } from "./ModelRunner.ts"
import type { Answer, Command, Report, SampledToken, SeededRequest } from "./EngineProtocol.ts"
import type { EngineSettings } from "./EngineSettings.ts"
import {
  EngineFailed,
  EngineOverloaded,
  type EngineError,
  PromptTooLong,
  type TokenEvent,
  toPlain,
  UnknownPolicy
} from "./EngineRequests.ts"
import { type Choice, Job } from "./Job.ts"
import { KvCache } from "./KvCache.ts"
import { PolicyTable, type Version } from "./PolicyTable.ts"
import * as Prefill from "./Prefill.ts"
import * as Sampler from "./Sampler.ts"
import { TokenRate } from "./TokenRate.ts"

/** Choices that run on the same weights; row i of the cache is choice i's. */
interface Lane<W> {
  readonly cache: KvCache
  readonly choices: Array<Choice<W>>
}

export interface Scheduler {
  readonly execute: (command: Command) => Effect.Effect<void, ExecutorError>
  readonly step: Effect.Effect<void, ExecutorError>
  /** Nothing to do until the next command. */
  readonly isIdle: () => boolean
  /** What happened since the last call. */
  readonly takeReport: () => Report
}

const notFinite = ({ policy, policyVersion }: { readonly policy: string; readonly policyVersion: number }) =>
  new EngineFailed({
    message:
      `the model's logits are not finite (policy "${policy}", version ${policyVersion}): ` +
      "its weights are NaN, infinite or so large that their products are, as a learning rate that is too high leaves them"
  })

export const make = <W>(runner: ModelRunner<W>, settings: EngineSettings): Scheduler => {
  const unused: Array<W> = []
  const policies = new PolicyTable<W>((weights) => unused.push(weights))
  const admission = new Admission<Job<W>, Version<W>>({
    maxRows: settings.maxRows,
    maxWaiting: settings.maxWaiting,
    kvBytes: settings.kvMemoryMegabytes * 2 ** 20,
    shape: runner.shape
  })
  const lanes = new Map<Version<W>, Lane<W>>()
  const jobs = new Map<number, Job<W>>()
  /** Jobs that were promised rows, and whose prompts are on their way through the model. */
  const prompts: Array<Job<W>> = []
  const rate = new TokenRate()
  let tokens: Array<SampledToken> = []
  let answers: Array<Answer> = []
  let sampled = 0
  let promptTokens = 0

  const fail = (id: number, error: EngineError): void => {
    answers.push({ _tag: "Failed", id, error: toPlain(error) })
    drop(id)
  }

  /** Frees all that a job holds. */
  const drop = (id: number): void => {
    const job = jobs.get(id)
    if (job === undefined) return
    jobs.delete(id)
    admission.withdraw(job)
    admission.promptDone(job)
    const at = prompts.indexOf(job)
    if (at >= 0) prompts.splice(at, 1)
    if (job.version === undefined) return
    for (; job.begun < job.granted; job.begun++) admission.release(job.version, job.demand)
    const lane = lanes.get(job.version)
    for (let row = (lane?.choices.length ?? 0) - 1; row >= 0; row--) {
      if (lane!.choices[row]!.job === job) removeRow(job.version, lane!, row)
    }
    policies.release(job.version)
  }

  const removeRow = (version: Version<W>, lane: Lane<W>, row: number): void => {
    const [{ job }, last] = [lane.choices[row]!, lane.choices.pop()!]
    lane.cache.remove(row)
    if (row < lane.choices.length) lane.choices[row] = last
    if (lane.choices.length === 0) lanes.delete(version)
    admission.release(version, job.demand)
  }

  const offer = (job: Job<W>): void => {
    if (!admission.fits(job.demand)) {
      const { promptTokens, totalTokens } = job.demand
      const limitTokens = admission.longest
      return fail(job.id, new PromptTooLong({ promptTokens, maxTokens: totalTokens - promptTokens, limitTokens }))
    }
    const unknown = unknownPolicy(job)
    if (unknown !== undefined) return fail(job.id, unknown)
    if (admission.offer(job, job.demand)) jobs.set(job.id, job)
    else fail(job.id, new EngineOverloaded({ waiting: admission.waiting, retryAfterMillis: 1000 }))
  }

  const unknownPolicy = (job: Job<W>): UnknownPolicy | undefined => {
    const { policy } = job.work.request
    if (job.version !== undefined || policies.resolve(policy) !== undefined) return undefined
    return new UnknownPolicy({ policy: policy ?? "", loaded: policies.names })
  }

  const admit = (): void => {
    for (;;) {
      const { head } = admission
      const unknown = head === undefined ? undefined : unknownPolicy(head)
      if (unknown !== undefined) {
        fail(head!.id, unknown)
        continue
      }
      // The policy is there: it was just looked for.
      const next = admission.next((job) => job.version ?? policies.resolve(job.work.request.policy)!)
      if (next === undefined) return
      const { choices, job } = next
      if (job.version === undefined) {
        const version = policies.resolve(job.work.request.policy)!
        policies.acquire(version)
        job.begin(version, runner.shape)
        prompts.push(job)
      }
      job.granted += choices
      if (job.row !== undefined) startChoices(job)
    }
  }

  const prefill = Effect.fnUntraced(function* () {
    const batch = Prefill.nextBatch(prompts, settings.prefillTokens)
    if (batch.length === 0) return
    const before = batch.reduce((sum, job) => sum + job.processed, 0)
    yield* Prefill.run(runner, batch, settings.prefillTokens)
    promptTokens += batch.reduce((sum, job) => sum + job.processed, 0) - before
    for (const job of batch) {
      if (job.row === undefined) continue
      prompts.splice(prompts.indexOf(job), 1)
      if (job.work._tag === "Generate") startChoices(job)
      else finishScore(job)
    }
  })

  const finishScore = (job: Job<W>): void => {
    const { policy, policyVersion } = job.version!
    const logprobs = Float32Array.from(job.scores.logprobs)
    if (logprobs.some(Number.isNaN)) return fail(job.id, notFinite(job.version!))
    const scored = { logprobs, alternatives: job.scores.alternatives, policy, policyVersion }
    answers.push({ _tag: "Scored", id: job.id, scored })
    drop(job.id)
  }

  /** Draws the first token of each choice that has a row, and gives the row its copy of the prompt. */
  const startChoices = (job: Job<W>): void => {
    if (job.work._tag !== "Generate") return
    const version = job.version!
    while (job.begun < job.granted) {
      const choice: Choice<W> = { job, index: job.begun++, tokens: [], logprobs: [], alternatives: [] }
      if (sample(choice, job.work, job.row!)) admission.release(version, job.demand)
      else {
        const lane = lanes.get(version) ?? { cache: new KvCache(runner.shape), choices: [] }
        lanes.set(version, lane)
        lane.cache.add(job.cache!, 0)
        lane.choices.push(choice)
        admission.measured(version, lane.cache.bytes)
      }
    }
    if (job.begun === job.work.request.n) {
      job.cache = undefined
      admission.promptDone(job)
    }
    finishJob(job)
  }

  const decode = Effect.fnUntraced(function* (version: Version<W>, lane: Lane<W>) {
    const { cache, choices } = lane
    const rows = Math.max(2, choices.length)
    cache.reserve(rows, Math.max(...cache.lengths) + 1)
    admission.measured(version, cache.bytes)
    const input = new Int32Array(rows)
    const inverseTemperatures = new Float32Array(rows).fill(1)
    for (const [row, { job, tokens }] of choices.entries()) {
      input[row] = tokens.at(-1)!
      inverseTemperatures[row] = job.inverseTemperature
    }
    const outputs = Int32Array.from({ length: rows }, (_, row) => row)
    const output = yield* runner.run(version.weights, {
      rows,
      width: 1,
      tokens: input,
      cache,
      outputs,
      inverseTemperatures
    })
    const touched = new Set<Job<W>>()
    for (let row = choices.length - 1; row >= 0; row--) {
      const choice = choices[row]!
      cache.append(row, output.entries, row, rows, 1, 1)
      if (choice.job.work._tag !== "Generate" || !sample(choice, choice.job.work, output.rows[row]!)) continue
      removeRow(version, lane, row)
      touched.add(choice.job)
    }
    for (const job of touched) finishJob(job)
  })

  /** Draws a choice's next token; whether it was the last, or there was none to draw. */
  const sample = (
    choice: Choice<W>,
    { request, stream }: { readonly request: SeededRequest; readonly stream: boolean },
    row: Sampler.Row
  ): boolean => {
    const { id, version } = choice.job
    const { policy, policyVersion } = version!
    const position = choice.tokens.length
    const uniform = request.temperature === 0 ? 0 : CounterRandom.uniform(request.seed, choice.index, position)
    const { logprob, token } = Sampler.draw(row, request, uniform)
    if (Number.isNaN(logprob)) return (choice.job.hasFailed = true)
    choice.tokens.push(token)
    choice.logprobs.push(logprob)
    sampled++
    const top = request.topLogprobs ?? 0
    if (top > 0) choice.alternatives.push(Sampler.alternatives(row, top))
    const finishReason = request.stopTokenIds.includes(token)
      ? "stop"
      : position + 1 === request.maxTokens
        ? "length"
        : undefined
    if (stream) {
      const event: TokenEvent = {
        index: choice.index,
        token,
        logprob,
        policy,
        policyVersion,
        ...(top > 0 ? { alternatives: choice.alternatives[position]! } : {}),
        ...(finishReason === undefined ? {} : { finishReason })
      }
      tokens.push({ id, event })
    }
    if (finishReason === undefined) return false
    choice.job.finished[choice.index] = {
      tokens: Int32Array.from(choice.tokens),
      logprobs: Float32Array.from(choice.logprobs),
      finishReason,
      policy,
      policyVersion,
      ...(top > 0 ? { alternatives: choice.alternatives } : {})
    }
    choice.job.left--
    return true
  }

  const finishJob = (job: Job<W>): void => {
    if (job.work._tag !== "Generate") return
    if (job.hasFailed) return fail(job.id, notFinite(job.version!))
    if (job.left > 0) return
    answers.push({ _tag: "Generated", id: job.id, choices: job.finished })
    drop(job.id)
  }

  const status = (nowMillis: number): Extract<Answer, { readonly _tag: "Status" }>["status"] => ({
    running: admission.rows,
    waiting: admission.waiting,
    tokensPerSecond: rate.perSecond(nowMillis),
    generatedTokens: sampled,
    promptTokens,
    kvBytes: [...lanes.values(), ...jobs.values()].reduce((sum, { cache }) => sum + (cache?.bytes ?? 0), 0),
    kvLimitBytes: admission.limits.kvBytes,
    policies: policies.versions.map((version) => ({
      policy: version.policy,
      policyVersion: version.policyVersion,
      running: lanes.get(version)?.choices.length ?? 0
    }))
  })

  return {
    isIdle: () => jobs.size === 0 && unused.length === 0,
    takeReport: () => {
      const report = { tokens, answers }
      tokens = []
      answers = []
      return report
    },
    execute: Effect.fnUntraced(function* (command) {
      if (command._tag === "Generate" || command._tag === "Score") offer(new Job<W>(command.id, command))
      else if (command._tag === "Cancel") drop(command.id)
      else if (command._tag === "Unload") policies.unload(command.policy)
      else if (command._tag === "Status") {
        answers.push({ _tag: "Status", id: command.id, status: status(yield* Clock.currentTimeMillis) })
      } else {
        const weights = yield* runner.put(command.parameters)
        if (command.isTried === true && !(yield* Prefill.isSound(runner, weights))) {
          unused.push(weights)
          return fail(command.id, notFinite(command))
        }
        policies.load(command.policy, command.policyVersion, weights)
        answers.push({ _tag: "Loaded", id: command.id })
      }
    }),
    step: Effect.gen(function* () {
      const before = sampled
      admit()
      yield* prefill()
      for (const [version, lane] of lanes) yield* decode(version, lane)
      for (const weights of unused.splice(0)) yield* runner.free(weights)
      rate.add(sampled - before, yield* Clock.currentTimeMillis)
    })
  }
}
