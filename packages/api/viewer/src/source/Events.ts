/**
 * Server-sent events over `fetch`, which can carry a token where `EventSource` cannot.
 *
 * An interrupted stream is opened again after a growing, jittered pause; a refusal that waiting does not mend (token,
 * no such run) ends the watch and is told as its problem. While the tab is hidden, nothing is followed; where
 * connections are short (`connections`), it is asked every few seconds what the stream would have told.
 */
import { EventSourceParserStream } from "eventsource-parser/stream"
import * as Connections from "./Connections.ts"
import type { Reach } from "./Reach.ts"
import { SourceError, type Unwatch, type WatchState } from "./Source.ts"

export interface EventStream {
  /** Of what is listened to: a stream is opened again as soon as it answers. */
  readonly reach: Reach
  /** Opens the stream; called again after each interruption, so that it can say where to go on. */
  readonly open: (signal: AbortSignal) => Promise<Response>
  readonly onMessage: (event: string | undefined, data: string) => void
  /** Tells once what the stream would have told since the last time. */
  readonly ask: (signal: AbortSignal) => Promise<void>
  readonly onState: (state: WatchState, problem: SourceError | null) => void
}

const firstPauseMillis = 1000
const longestPauseMillis = 30_000
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
      const shown = Connections.whileShown(signal)
      let problem: SourceError | null = null
      let isAsking = false
      try {
        if (signal.aborted) return
        if (release === null) {
          await ask(shown.signal)
          pause = firstPauseMillis
          isAsking = true
          onState("live", null)
        } else await stream(shown.signal)
      } catch (cause) {
        problem =
          cause instanceof SourceError ? cause : new SourceError("unreachable", "the connection was interrupted")
      } finally {
        shown.end()
        release?.()
      }
      if (signal.aborted) return
      if (shown.signal.aborted) continue
      if (isAsking) {
        await sleep(betweenAsksMillis, signal)
        continue
      }
      onState("waiting", problem)
      if (problem?.kind === "unauthorized" || problem?.kind === "forbidden" || problem?.kind === "not-found") return
      await sleep(pause * (0.5 + Math.random() / 2), signal, reach)
      pause = Math.min(pause * 2, longestPauseMillis)
    }
  }
  void run()
  return () => abort.abort()
}

/** The first event of a stream, which is then let go. */
export const first = async (response: Response, onMessage: EventStream["onMessage"]): Promise<void> => {
  for await (const { data, event } of read(response)) return onMessage(event, data)
}

const read = ({ body }: Response) => {
  if (body === null) throw new SourceError("failed", "the service sent no stream of events")
  return body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
}

/** Ends early when the source is back. */
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
