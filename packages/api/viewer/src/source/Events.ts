/**
 * Reads server-sent events over `fetch`, which unlike `EventSource` can send a token. An interrupted stream is reopened
 * after a growing, jittered pause; a permanent error (token, unknown run) ends the watch and is reported. Nothing is
 * followed while the tab is hidden; without a free connection slot (`connections`) it polls every few seconds.
 */
import { EventSourceParserStream } from "eventsource-parser/stream"
import * as Connections from "./Connections.ts"
import type { Reach } from "./Reach.ts"
import { SourceError, type Unwatch, type WatchState } from "./Source.ts"

export interface EventStream {
  /** Reachability of the source: a stream is reopened as soon as it is reachable. */
  readonly reach: Reach
  /** Opens the stream; called again after each interruption, so that it can pass a resume position. */
  readonly open: (signal: AbortSignal) => Promise<Response>
  readonly onMessage: (event: string | undefined, data: string) => void
  /** Polls once for everything new since the last time. */
  readonly ask: (signal: AbortSignal) => Promise<void>
  readonly onState: (state: WatchState, problem: SourceError | null) => void
}

const firstPauseMillis = 1000
const maxPauseMillis = 30_000
const betweenAsksMillis = 3000

export const follow = ({ ask, onMessage, onState, open, reach }: EventStream): Unwatch => {
  const abort = new AbortController()
  const { signal } = abort

  let pause = firstPauseMillis

  const stream = async (signal: AbortSignal): Promise<void> => {
    const events = read(await open(signal))
    pause = firstPauseMillis
    onState("live", null)
    for await (const { data, event } of events) {
      if (signal.aborted) return
      onMessage(event, data)
    }
  }

  const run = async () => {
    onState("connecting", null)
    for (;;) {
      await Connections.shown(signal)
      const release = await Connections.take()
      const whileShown = Connections.whileShown(signal)
      let problem: SourceError | null = null
      let isAsking = false
      try {
        if (signal.aborted) return
        if (release === null) {
          await ask(whileShown.signal)
          pause = firstPauseMillis
          isAsking = true
          onState("live", null)
        } else await stream(whileShown.signal)
      } catch (cause) {
        problem =
          cause instanceof SourceError ? cause : new SourceError("unreachable", "the connection was interrupted")
      } finally {
        whileShown.end()
        release?.()
      }
      if (signal.aborted) return
      if (whileShown.signal.aborted) continue
      if (isAsking) {
        await sleep(betweenAsksMillis, signal)
        continue
      }
      onState("waiting", problem)
      if (problem?.kind === "unauthorized" || problem?.kind === "forbidden" || problem?.kind === "not-found") return
      await sleep(pause * (0.5 + Math.random() / 2), signal, reach)
      pause = Math.min(pause * 2, maxPauseMillis)
    }
  }
  void run()
  return () => abort.abort()
}

/** Reads the first event of a stream, then closes it. */
export const first = async (response: Response, onMessage: EventStream["onMessage"]): Promise<void> => {
  for await (const { data, event } of read(response)) return onMessage(event, data)
}

const read = ({ body }: Response) => {
  if (body === null) throw new SourceError("failed", "the service sent no event stream")
  return body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
}

/** Ends early when the source is reachable again. */
const sleep = (millis: number, signal: AbortSignal, reach?: Reach): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      unsubscribe()
      signal.removeEventListener("abort", end)
      resolve()
    }
    const returns = reach?.returns()
    const unsubscribe = reach?.subscribe(() => reach.returns() !== returns && end()) ?? (() => {})
    const timer = setTimeout(end, millis)
    signal.addEventListener("abort", end)
  })
