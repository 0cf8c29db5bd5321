/**
 * The engine's scheduler: holds its state and runs its steps.
 *
 * A step starts requests if capacity allows, prefills one batch of prompts by one chunk, and samples one token for
 * every running choice, one version of weights after another. Commands run between steps.
 */
import { Clock, Effect } from "effect"
import { TokenRate } from "../base/TokenRate.ts"
import type { ExecutorError } from "../exec/Executor.ts"
import * as Decoding from "./Decoding.ts"
import { type ModelRunner, routedOf } from "./ModelRunner.ts"
import type { Answer, Command, Report, SampledToken } from "./EngineProtocol.ts"
import type { EngineSettings } from "./EngineSettings.ts"
import { EngineFailed, type EngineError, InvalidRequest, toPlain } from "./EngineRequests.ts"
import { Holds } from "./Holds.ts"
import { type Choice, Job } from "./Job.ts"
import { Jobs } from "./Jobs.ts"
import type { DecodeBatch } from "./DecodeBatches.ts"
import * as NextToken from "./NextToken.ts"
import type { Version } from "./PolicyTable.ts"
import * as Prefill from "./Prefill.ts"
import type * as Sampler from "./Sampler.ts"

const notFinite = ({ policy, policyVersion }: { readonly policy: string; readonly policyVersion: number }) =>
  new EngineFailed({
    message:
      `the model's logits are not finite (policy "${policy}", version ${policyVersion}): ` +
      "its weights are NaN, infinite, or so large that their products overflow, usually after too high a learning rate"
  })

const noWay = "no token can continue an answer that matches the schema"

/** `W` is the type of weights on the device. */
export class Scheduler<W> {
  private readonly runner: ModelRunner<W>
  private readonly settings: EngineSettings
  private readonly jobs: Jobs<W>
  private readonly unused: Array<W> = []
  private readonly rate = new TokenRate()
  private tokens: Array<SampledToken> = []
  private answers: Array<Answer> = []
  private sampledTokens = 0
  private promptTokens = 0
  private cachedPromptTokens = 0
  private guessedTokens = 0
  private acceptedGuesses = 0
  private readonly holds: Holds<W>

  /** `wake` is called when work arises without a command. */
  constructor(runner: ModelRunner<W>, settings: EngineSettings, wake: () => void = () => undefined) {
    this.runner = runner
    this.settings = settings
    this.holds = new Holds<W>({ max: settings.maxWaiting, enter: (job, refusal) => this.enter(job, refusal), wake })
    this.jobs = new Jobs({ settings, shape: runner.shape, free: (weights) => this.unused.push(weights) })
  }

  dispose(): void {
    this.holds.dispose()
  }

  /** True if there is nothing to do until the next command. */
  get isIdle(): boolean {
    return this.jobs.isEmpty && this.unused.length === 0
  }

  takeReport(): Report {
    const { answers, tokens } = this
    this.tokens = []
    this.answers = []
    return { tokens, answers }
  }

  execute(command: Command): Effect.Effect<void, ExecutorError> {
    switch (command._tag) {
      case "Generate":
      case "Score":
        return this.holds.offer(new Job<W>(command.id, command))
      case "Vocabulary":
        return Effect.sync(() => {
          this.holds.setVocabulary(command.vocabulary, this.runner.vocabulary)
        })
      case "Cancel":
        return Effect.sync(() => {
          this.holds.cancel(command.id)
          this.jobs.drop(command.id)
        })
      case "End":
        return Effect.sync(() => {
          const job = this.jobs.endChoice(command.id, command.index)
          if (job !== undefined) this.finishJob(job)
        })
      case "Unload":
        return Effect.sync(() => void this.jobs.policies.unload(command.policy))
      case "Status":
        return Effect.map(Clock.currentTimeMillis, (now) => {
          this.answers.push({ _tag: "Status", id: command.id, status: this.status(now) })
        })
      case "Load":
        return this.load(command)
    }
  }

  readonly step: Effect.Effect<void, ExecutorError> = Effect.gen({ self: this }, function* () {
    const before = this.sampledTokens
    this.admit()
    yield* this.prefill
    for (const [version, batch] of this.jobs.batches) yield* this.decode(version, batch)
    for (const weights of this.unused.splice(0)) yield* this.runner.free(weights)
    this.rate.add(this.sampledTokens - before, yield* Clock.currentTimeMillis)
  })

  private enter(job: Job<W>, refusal: EngineError | undefined): void {
    const error = refusal ?? this.jobs.offer(job)
    if (error === undefined) return
    job.dispose()
    this.fail(job.id, error)
  }

  private load(command: Extract<Command, { readonly _tag: "Load" }>): Effect.Effect<void, ExecutorError> {
    return Effect.gen({ self: this }, function* () {
      const weights = yield* this.runner.put(command.parameters)
      if (command.isTried === true && !(yield* Prefill.isSound(this.runner, weights))) {
        this.unused.push(weights)
        return this.fail(command.id, notFinite(command))
      }
      this.jobs.policies.load(command.policy, command.policyVersion, weights)
      if (this.settings.weightUpdates === "in_flight") this.jobs.follow()
      this.answers.push({ _tag: "Loaded", id: command.id })
    })
  }

  private fail(id: number, error: EngineError): void {
    this.answers.push({ _tag: "Failed", id, error: toPlain(error) })
    this.jobs.drop(id)
  }

  private admit(): void {
    for (let next = this.jobs.admitNext(); next !== undefined; next = this.jobs.admitNext()) {
      if (next.error !== undefined) this.fail(next.job.id, next.error)
      else if (next.job.row !== undefined) this.startChoices(next.job)
    }
  }

  /** Prefill runs, about `prefillTokens` positions in total. */
  private readonly prefill: Effect.Effect<void, ExecutorError> = Effect.gen({ self: this }, function* () {
    const { prefillTokens } = this.settings
    for (let left = prefillTokens; left > 0;) {
      const { prefixes, prompts } = this.jobs
      const batch = Prefill.nextBatch(prompts, left)
      if (batch.length === 0) return
      const known = batch.reduce((sum, job) => sum + Prefill.extend(job, prefixes), 0)
      this.cachedPromptTokens += known
      // Cached blocks advanced them, so other prompts may now fit with them.
      if (known > 0) continue
      const processed = () => batch.reduce((sum, job) => sum + job.processed, 0)
      const before = processed()
      yield* Prefill.run(this.runner, batch, prefillTokens, prefixes)
      const count = processed() - before
      this.promptTokens += count
      left -= count
      for (const job of batch) {
        if (job.row === undefined) continue
        this.jobs.promptDone(job)
        if (job.work._tag === "Generate") this.startChoices(job)
        else this.finishScore(job)
      }
    }
  })

  private finishScore(job: Job<W>): void {
    const { policy, policyVersion } = job.version!
    const logprobs = Float32Array.from(job.scores.logprobs)
    if (logprobs.some(Number.isNaN)) return this.fail(job.id, notFinite(job.version!))
    const scored = { logprobs, alternatives: job.scores.alternatives, policy, policyVersion }
    this.answers.push({ _tag: "Scored", id: job.id, scored })
    this.jobs.drop(job.id)
  }

  /** Samples the first token of each choice with a reserved row, and copies the prompt's cache into the row. */
  private startChoices(job: Job<W>): void {
    if (job.work._tag !== "Generate") return
    const { admission, batches } = this.jobs
    const version = job.version!
    while (job.begun < job.granted) {
      const choice = job.beginChoice()
      if (this.sample(choice, job.row!)) admission.release(version, job.demand)
      else batches.add(version, choice, job.cache!)
    }
    if (job.begun === job.work.request.n) {
      job.cache = undefined
      admission.promptDone(job)
    }
    this.finishJob(job)
  }

  /** Samples one more token for each choice of a batch, or several if speculation was right. */
  private decode(version: Version<W>, batch: DecodeBatch<W>): Effect.Effect<void, ExecutorError> {
    const { cache, choices } = batch
    // A rejected token could not be removed from a state.
    const speculativeTokens = this.runner.shape.states === undefined ? this.settings.speculativeTokens : 0
    const guesses = Decoding.guesses(choices, speculativeTokens)
    const rows = this.jobs.batches.reserve(
      version,
      batch,
      guesses.map(({ length }) => 1 + length)
    )
    const { input, places } = Decoding.run(choices, guesses, cache, rows, 1 + speculativeTokens)
    const ran = Effect.tap(this.runner.run(version.weights, input), () => Decoding.mask(choices))
    return Effect.map(ran, (output) => {
      const ended = new Set<Job<W>>()
      // From the last: a removed row is replaced by one that was already processed.
      for (let row = choices.length - 1; row >= 0; row--) {
        const choice = choices[row]!
        const guessed = guesses[row]!
        const { routed } = output
        const passed = (at: number) => routed && choice.routed.push(routedOf(routed, row, input.width, at, 1))
        passed(0)
        let isEnded = this.sample(choice, output.rows[places[row]!]!)
        let right = 0
        while (!isEnded && right < guessed.length && choice.tokens.at(-1) === guessed[right]) {
          right++
          passed(right)
          isEnded = this.sample(choice, output.rows[places[row]! + right]!)
        }
        this.guessedTokens += guessed.length
        this.acceptedGuesses += right
        cache.append(row, output.entries, row, rows, input.width, 1 + right)
        if (output.states !== undefined) cache.replaceStates(row, output.states, row, rows)
        if (!isEnded) continue
        this.jobs.batches.remove(version, batch, row)
        ended.add(choice.job)
      }
      for (const job of ended) this.finishJob(job)
    })
  }

  /** Samples a choice's next token; true if the choice has ended or no token could be sampled. */
  private sample(choice: Choice<W>, row: Sampler.Row): boolean {
    const { id, work } = choice.job
    if (work._tag !== "Generate") return false
    const event = NextToken.draw(choice, work.request, row)
    if (event === undefined) return true
    this.sampledTokens++
    if (work.stream) this.tokens.push({ id, event })
    return event.finishReason !== undefined
  }

  /** Answers a request once its last choice has ended, or one has failed. */
  private finishJob(job: Job<W>): void {
    if (job.hasFailed) return this.fail(job.id, notFinite(job.version!))
    if (job.broken !== undefined) return this.fail(job.id, new EngineFailed({ message: job.broken }))
    if (job.hasNoWay) return this.fail(job.id, new InvalidRequest({ field: "schema", message: noWay }))
    if (job.left > 0) return
    this.answers.push({ _tag: "Generated", id: job.id, choices: job.finished })
    this.jobs.drop(job.id)
  }

  private status(nowMillis: number): Extract<Answer, { readonly _tag: "Status" }>["status"] {
    const { admission, kvBytes, batches, policies, prefixes } = this.jobs
    return {
      running: admission.rows,
      waiting: admission.waiting,
      tokensPerSecond: this.rate.perSecond(nowMillis),
      generatedTokens: this.sampledTokens,
      promptTokens: this.promptTokens,
      cachedPromptTokens: this.cachedPromptTokens,
      guessedTokens: this.guessedTokens,
      acceptedGuesses: this.acceptedGuesses,
      kvBytes,
      prefixBytes: prefixes.bytes,
      kvLimitBytes: admission.limits.kvBytes,
      policies: policies.versions.map((version) => ({
        policy: version.policy,
        policyVersion: version.policyVersion,
        running: batches.running(version)
      }))
    }
  }
}
