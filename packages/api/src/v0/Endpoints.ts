/** What each of the original's endpoints does, over one run of the store. */
import { WireForm } from "@atropos/core"
import { type Duration, Effect, Option, Random, type Scope } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as GroupReader from "../submission/GroupReader.ts"
import { type StoreError, TrajectoryStore, UnknownRun } from "../store/TrajectoryStore.ts"
import * as BatchBody from "./BatchBody.ts"
import * as Delivery from "../claim/Delivery.ts"
import { form, jsonBytes, type Refusal } from "./Reading.ts"
import * as Reply from "../http/Reply.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** The handlers of one path. */
export interface Methods {
  readonly GET?: (request: Request) => Effect.Effect<Response, Refusal, Scope.Scope>
  readonly POST?: (request: Request) => Effect.Effect<Response, Refusal, Scope.Scope>
}

const always = (effect: Effect.Effect<Response, Refusal>) => () => effect

const nothingYet = Reply.json({ batch: null })
const notRegistered = Reply.json({
  status: "error",
  message: "Trainer not registered. Call /register first.",
  batch: []
})
const noExample = Reply.json({
  tokens: [],
  masks: [],
  scores: [],
  advantages: [],
  ref_logprobs: [],
  generation_params: [],
  inference_logprobs: [],
  messages: [],
  images: []
})
const success = Reply.json({ status: "success" })
const received = Reply.json({ status: "received" })
const failure = (error: string) => Reply.json({ status: "failure", error })

/** The handlers by path. Batches are handed out for `lease`. */
export const make = Effect.fnUntraced(function* (run: string, lease: Duration.Input) {
  const store = yield* TrajectoryStore
  const reader = yield* GroupReader.make
  const scope = yield* Effect.scope

  const registered = Effect.map(store.run(run), (found) => Option.filter(found, (one) => one.registered))

  const register = (request: Request) =>
    form(request, WireForm.registration).pipe(
      Effect.flatMap((spec) => store.registerRun({ ...spec, name: run })),
      // The original answers with 128 random bits; these are as many as a JSON number holds everywhere.
      Effect.andThen(Random.nextIntBetween(1, Number.MAX_SAFE_INTEGER)),
      Effect.map((uuid) => Reply.json({ uuid }))
    )

  const registerEnvironment = (request: Request) =>
    form(request, WireForm.environment).pipe(
      Effect.flatMap((spec) => store.registerEnvironment(run, spec)),
      Effect.map(
        Option.match({
          onNone: () => Reply.json({ status: "wait for trainer to start" }),
          onSome: (registration) =>
            Reply.json({
              status: "success",
              env_id: registration.envId,
              wandb_name: registration.name,
              checkpoint_dir: registration.checkpointDir,
              starting_step: registration.startingStep,
              checkpoint_interval: registration.checkpointInterval,
              num_steps: registration.numSteps
            })
        })
      )
    )

  /** The id meant by one that may count from the end. */
  const resolve = (id: number): Effect.Effect<number, StoreError> =>
    id >= 0 ? Effect.succeed(id) : Effect.map(store.environments(run), ({ length }) => id + length)

  const disconnectEnvironment = (request: Request) =>
    form(request, WireForm.environmentId).pipe(
      Effect.flatMap((id) =>
        registered.pipe(
          Effect.filterOrFail(Option.isSome, () => new UnknownRun({ run })),
          Effect.andThen(resolve(id)),
          Effect.flatMap((envId) => store.disconnectEnvironment(run, envId))
        )
      ),
      Effect.as(success),
      // The original shows the words of its own exceptions.
      Effect.catchTags({
        UnknownEnvironment: () => Effect.succeed(failure("list index out of range")),
        UnknownRun: () => Effect.succeed(failure("'State' object has no attribute 'envs'"))
      })
    )

  const submitOne = (request: Request) =>
    jsonBytes(request).pipe(
      Effect.flatMap((body) => reader.read("one", body)),
      Effect.flatMap((groups) => store.submit(run, groups)),
      Effect.map(([outcome]) =>
        outcome?.status === "buffered" ? Reply.json({ status: "buffered", buffer_size: outcome.bufferSize }) : received
      )
    )

  const submitList = (request: Request) =>
    jsonBytes(request).pipe(
      Effect.flatMap((body) => reader.read("list", body)),
      Effect.flatMap((groups) => (groups.length === 0 ? Effect.succeed([]) : store.submit(run, groups))),
      Effect.map((outcomes) => {
        const buffered = outcomes.filter((outcome) => outcome.status === "buffered")
        const last = buffered.at(-1)
        return Reply.json({
          status: "received",
          groups_processed: outcomes.length,
          ...(last && { buffered: buffered.length, last_buffer_size: last.bufferSize })
        })
      })
    )

  const claim = (request: Request) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        store.claim(run, { owner: "trainer of the original's endpoints", lease }),
        Option.match({
          onNone: () => Effect.succeed(nothingYet),
          onSome: (claimed) =>
            restore(BatchBody.make(claimed.groups)).pipe(
              Effect.map((bytes) => Reply.jsonBytes(bytes)),
              Effect.onError(() => Delivery.giveBack(store, claimed)),
              Effect.tap(() => Effect.forkIn(Delivery.settle(store, request, claimed), scope))
            )
        })
      )
    )

  /** The first poll lets environments in. */
  const batch = (request: Request) =>
    store.start(run).pipe(
      Effect.andThen(claim(request)),
      Effect.catchTag("UnknownRun", () => Effect.succeed(notRegistered))
    )

  const status = Effect.map(store.summary(run), ({ currentStep, queuedGroups }) =>
    Reply.json({ current_step: currentStep, queue_size: queuedGroups })
  )

  /** The id comes in the body of the GET, as the original's environments send it, or as `?env_id=`. */
  const statusEnvironment = (request: Request) => {
    const query = /[?&]env_id=(-?\d+)(?:&|$)/.exec(request.url)?.[1]
    const id = query === undefined ? form(request, WireForm.environmentId) : Effect.succeed(Number(query))
    return Effect.flatMap(id, (asked) =>
      Effect.flatMap(resolve(asked), (envId) => store.status(run, envId)).pipe(
        Effect.map((found) =>
          Reply.json({
            current_step: found.currentStep,
            queue_size: found.queueSize,
            unallocated_fraction: found.unallocatedFraction,
            self_queue_size: found.selfQueueSize,
            max_group_size: found.maxGroupSize,
            env_weight: found.envWeight
          })
        ),
        Effect.catchTag("UnknownEnvironment", () =>
          Effect.succeed(Reply.detail(404, `no environment has the id ${asked}: POST /register-env gives one`))
        )
      )
    )
  }

  const wandbInfo = Effect.map(registered, (found) =>
    Reply.json({
      group: Option.getOrNull(Option.map(found, ({ wandbGroup }) => wandbGroup)),
      project: Option.getOrNull(Option.map(found, ({ wandbProject }) => wandbProject))
    })
  )

  const info = Effect.map(
    registered,
    Option.match({
      onNone: () => Reply.json({ batch_size: -1, max_token_len: -1 }),
      onSome: ({ batchSize, maxTokenLength }) => Reply.json({ batch_size: batchSize, max_token_len: maxTokenLength })
    })
  )

  const latestExample = Effect.flatMap(
    store.latest(run),
    Option.match({
      onNone: () => Effect.succeed(noExample),
      onSome: ({ payload }) => Effect.map(BatchBody.groupJson(payload), (bytes) => Reply.jsonBytes(bytes))
    })
  )

  const reset = Effect.as(store.reset(run), Reply.text("Reset successful"))

  return {
    "/": { GET: always(Effect.succeed(Reply.json({ message: "AtroposLib API" }))) },
    "/register": { POST: register },
    "/register-env": { POST: registerEnvironment },
    "/disconnect-env": { POST: disconnectEnvironment },
    "/scored_data": { POST: submitOne },
    "/scored_data_list": { POST: submitList },
    "/batch": { GET: batch },
    "/status": { GET: always(status) },
    "/status-env": { GET: statusEnvironment },
    "/wandb_info": { GET: always(wandbInfo) },
    "/info": { GET: always(info) },
    "/latest_example": { GET: always(latestExample) },
    "/reset_data": { GET: always(reset), POST: always(reset) }
  } satisfies { readonly [path: `/${string}`]: Methods }
})
