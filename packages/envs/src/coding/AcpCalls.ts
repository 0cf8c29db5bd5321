/**
 * Collects the tool calls that an agent reports by `session/update`: the first ones of a run, and the beginnings of
 * their texts, regardless of how much the agent sends.
 */
import type { SessionUpdate } from "@agentclientprotocol/sdk"
import type { Timings } from "@atropos/core"

/** Per run. */
export const maxCalls = 200
/** In characters. */
const maxTitle = 120
const maxText = 400

type Update = Extract<SessionUpdate, { readonly sessionUpdate: "tool_call" | "tool_call_update" }>

interface Open extends Omit<Timings.Call, "to"> {
  readonly to?: number
}

export interface AcpCalls {
  readonly hear: (update: SessionUpdate, now: number) => void
  /** Ends the calls that are still open, with their status. */
  readonly close: (now: number) => void
  /** All calls; those still open end now. */
  readonly all: (now: number) => ReadonlyArray<Timings.Call>
}

const clip = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text)

/** The beginning of its text, and the paths of its changes; undefined if the update has none. */
const textOf = ({ content }: Update): string | undefined => {
  if (content === undefined || content === null) return undefined
  const texts = content.slice(0, maxCalls).flatMap((one) => {
    if (one.type === "diff") return [`changed ${one.path}`]
    return one.type === "content" && one.content.type === "text" ? [one.content.text.slice(0, maxText + 1)] : []
  })
  return clip(texts.join("\n"), maxText)
}

export const make = (): AcpCalls => {
  const calls = new Map<string, Open>()
  return {
    hear: (update, now) => {
      if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") return
      const id = clip(update.toolCallId, maxTitle)
      const known = calls.get(id)
      if (known === undefined ? calls.size >= maxCalls : known.to !== undefined) return
      const status = update.status ?? known?.status ?? "pending"
      const hasEnded = status === "completed" || status === "failed"
      calls.set(id, {
        from: known?.from ?? now,
        ...(hasEnded && { to: now }),
        title: clip(update.title ?? known?.title ?? "tool", maxTitle),
        kind: update.kind ?? known?.kind ?? "other",
        status,
        text: textOf(update) ?? known?.text ?? ""
      })
    },
    close: (now) => {
      for (const [id, call] of calls) if (call.to === undefined) calls.set(id, { ...call, to: now })
    },
    all: (now) => Array.from(calls.values(), (call) => ({ ...call, to: call.to ?? now }))
  }
}
