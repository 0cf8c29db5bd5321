/**
 * Tracked sessions kept by the original's managed-server proxy (`proxy_url`, ATROPOS_PROXY_URL) instead of by this
 * process.
 *
 * A session is made when it is asked for and deleted when its scope closes; the nodes the proxy holds are the
 * trajectories. Unlike the original's client, tool calls are kept. Text completions are not offered by the
 * proxy. Nothing is tried again: the proxy may have recorded what it did not answer. Source: managed_server_proxy.py.
 */
import { Config, Duration, Effect, Option, Schema, type Scope } from "effect"
import { type ChatRequest, InferenceError, type TrackedSession } from "./Inference.ts"
import * as Labels from "../../Labels.ts"
import type { Message } from "../../Message.ts"
import * as Sampling from "../../Sampling.ts"
import type { Trajectory } from "../../Trajectory.ts"
import { unsupported } from "./Backend.ts"
import * as Positions from "./Positions.ts"
import * as Relation from "../session/Relation.ts"
import * as Reply from "./Reply.ts"
import * as SessionTree from "../session/SessionTree.ts"
import * as SamplingBody from "./SamplingBody.ts"
import type { Transport } from "./Transport.ts"

export interface Proxy {
  readonly tracked: Effect.Effect<TrackedSession, InferenceError, Scope.Scope>
}

const Created = Schema.Struct({ uuid: Schema.String })
const Nodes = Schema.Struct({
  nodes: Schema.Array(
    Schema.Struct({
      full_text: Schema.String,
      tokens: Schema.Array(Schema.Natural),
      masked_tokens: Schema.Array(Schema.Int),
      logprobs: Schema.Array(Schema.Finite),
      metadata: Schema.optionalKey(
        Schema.NullOr(Schema.Struct({ finish_reason: Schema.optionalKey(Schema.NullOr(Schema.String)) }))
      )
    })
  )
})
const decodeCreated = Reply.decode(Created)
const decodeNodes = Reply.decode(Nodes)

/** ATROPOS_PROXY_URL, where it is set. */
export const configuredUrl: Effect.Effect<string | undefined> = Config.NonEmptyString("ATROPOS_PROXY_URL").pipe(
  Config.option,
  Effect.orDie,
  Effect.map(Option.getOrUndefined)
)

export const make = (options: {
  readonly url: string
  readonly transport: Transport
  /** For any answer. */
  readonly timeout: Duration.Duration
}): Proxy => {
  const { timeout, transport } = options
  const server = options.url.replace(/(?<!\/)\/+$/, "")
  const call = (method: "GET" | "POST" | "DELETE", path: string, body?: { readonly [key: string]: unknown }) =>
    transport
      .json({ method, server, url: `${server}${path}`, apiKey: "", ...(body === undefined ? {} : { body }) })
      .pipe(
        Effect.timeoutOrElse({
          duration: timeout,
          orElse: () =>
            Effect.fail(
              new InferenceError({
                reason: "timeout",
                server,
                message: `the proxy ${server} gave no answer to ${method} ${path} within ${Duration.toSeconds(timeout)} s (setting: timeout)`
              })
            )
        })
      )

  const open = Effect.gen(function* () {
    const reply = yield* call("POST", "/sessions/create", { tool_parser: "hermes" })
    return (yield* decodeCreated(server, reply.body)).uuid
  })
  const close = (uuid: string) =>
    call("DELETE", `/${uuid}`).pipe(
      Effect.timeout("5 seconds"),
      Effect.catch((error) =>
        Effect.logWarning("the proxy keeps a session that is over", { uuid, reason: error.message })
      )
    )

  return {
    tracked: Effect.map(Effect.acquireRelease(open, close, { interruptible: true }), (uuid): TrackedSession => {
      const chats: Array<Chat> = []
      const tree = SessionTree.make<undefined, undefined>()
      const counts = { ...Relation.none }
      const recorded = Effect.gen(function* () {
        const { nodes } = yield* decodeNodes(server, (yield* call("GET", `/${uuid}/nodes`)).body)
        // Which of a node's turns belong to which request the proxy does not say: they have to be alike.
        const [first, ...others] = chats.map(({ sampling }) => sampling)
        if (others.some((sampling) => !Sampling.areEqual(sampling, first))) {
          return yield* new InferenceError({ reason: "unsupported", server, message: Sampling.mixed })
        }
        return yield* Effect.forEach(nodes, (node) => toTrajectory(server, node, chats, first))
      })
      return {
        chat: Effect.fn("Proxy.chat")(function* (request: ChatRequest) {
          const { messages, tools = [] } = request
          const place = tree.find(messages, tools)
          counts[Relation.of(tree, place, messages)]++
          const asking = tree.ask(
            place.prompt ?? {
              parent: place.answer,
              asked: messages.slice(place.repeated),
              isOpen: false,
              tools: place.answer?.prompt.tools ?? tools,
              data: undefined
            }
          )
          const reply = yield* call("POST", `/${uuid}/v1/chat/completions`, {
            messages: request.messages,
            ...(request.tools === undefined ? {} : { tools: request.tools }),
            ...(request.toolChoice === undefined ? {} : { tool_choice: request.toolChoice }),
            // What is left out a server may fill in from its model's files.
            temperature: 1,
            top_p: 1,
            ...SamplingBody.given(request)
          })
          // Behind the proxy are vLLM or SGLang with their usual logprobs.
          const sampling = Sampling.ofRequest(request, "raw")
          const { choices } = yield* Reply.chat(server, request.n ?? 1, reply)
          tree.record(
            asking,
            choices.map(({ message, text }) => ({ message, text, data: undefined })),
            asking.prompt.parent
          )
          for (const { message, text } of choices)
            chats.push({ messages: [...request.messages, message], completion: text, sampling })
          return choices
        }),
        complete: () => unsupported(server, "tracked text completions", "use chat, or leave proxy_url out"),
        trajectories: recorded,
        recording: Effect.map(recorded, (all) => ({
          sequences: all.map((trajectory, sequence) => ({ sequence, trajectory })),
          leftOut: []
        })),
        counts: Effect.sync(() => ({ ...counts }))
      }
    })
  }
}

interface Chat {
  readonly messages: ReadonlyArray<Message>
  readonly completion: string
  readonly sampling: Sampling.Sampling
}

/** A node as a trajectory; its chat is the longest one seen here whose last words end the node's text. */
const toTrajectory = (
  server: string,
  node: (typeof Nodes.Type)["nodes"][number],
  chats: ReadonlyArray<Chat>,
  sampling: Sampling.Sampling | undefined
): Effect.Effect<Trajectory, InferenceError> => {
  const { full_text: text, logprobs, masked_tokens: labels, tokens } = node
  if (tokens.length !== labels.length || tokens.length !== logprobs.length) {
    return Effect.fail(
      new InferenceError({
        reason: "malformed",
        server,
        message: `node of ${server}: ${tokens.length} tokens, ${labels.length} mask values, ${logprobs.length} logprobs`
      })
    )
  }
  const chat = chats
    .filter(({ completion }) => text.endsWith(completion))
    .toSorted((a, b) => b.messages.length - a.messages.length)[0]
  // Where nothing was sampled the proxy writes 1.
  return Effect.as(
    Positions.check(server, { tokens, logprobs }, (at) => labels[at] !== Labels.untrained),
    {
      messages: chat?.messages ?? [{ role: "user", content: text }],
      completion: chat?.completion ?? "",
      finishReason: node.metadata?.finish_reason ?? "unknown",
      tokens: Int32Array.from(tokens),
      mask: Labels.toMask(tokens, labels),
      logprobs: Labels.toLogprobs(logprobs),
      ...(sampling !== undefined && { sampling })
    }
  )
}
