/**
 * Server-sent events over `fetch`, which can carry a token where `EventSource` cannot.
 *
 * An interrupted stream is opened again after a growing, jittered pause; a refusal that waiting does not mend (token, no such run)
 * ends the watch and is told as its problem.
 */
import { EventSourceParserStream } from "eventsource-parser/stream"
import { SourceError, type Unwatch, type WatchState } from "./Source.ts"

export interface EventStream {
  /** Opens the stream; called again after each interruption, so that it can say where to go on. */
  readonly open: (signal: AbortSignal) => Promise<Response>
  readonly onMessage: (event: string | undefined, data: string) => void
  readonly onState: (state: WatchState, problem: SourceError | null) => void
}

const firstPauseMillis = 1000
const longestPauseMillis = 30_000

export const follow = ({ onMessage, onState, open }: EventStream): Unwatch => {
  const abort = new AbortController()
  const { signal } = abort
  const run = async () => {
    let pause = firstPauseMillis
    onState("connecting", null)
    while (!signal.aborted) {
      let problem: SourceError | null = null
      try {
        const response = await open(signal)
        if (response.body === null) throw new SourceError("failed", "the service sent no stream of events")
        onState("live", null)
        pause = firstPauseMillis
        const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
        for await (const { data, event } of events) {
          if (signal.aborted) return
          onMessage(event, data)
        }
      } catch (cause) {
        if (signal.aborted) return
        problem =
          cause instanceof SourceError ? cause : new SourceError("unreachable", "the connection was interrupted")
        if (problem.kind === "unauthorized" || problem.kind === "forbidden" || problem.kind === "not-found") {
          return onState("waiting", problem)
        }
      }
      onState("waiting", problem)
      await sleep(pause * (0.5 + Math.random() / 2), signal)
      pause = Math.min(pause * 2, longestPauseMillis)
    }
  }
  void run()
  return () => abort.abort()
}

const sleep = (millis: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, millis)
    signal.addEventListener("abort", () => {
      clearTimeout(timer)
      resolve()
    })
  })
