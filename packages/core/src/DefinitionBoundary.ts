/**
 * Runs the effects and streams of an environment's definition for its runner: with the services it was built with, what
 * its functions throw as faults of their part, and every other error as one that names the environment.
 */
import { Context, Effect, Stream, Tracer } from "effect"
import { type DefinitionFault, EnvironmentError, Unscorable } from "./EnvironmentError.ts"
import * as DefinitionCalls from "./DefinitionCalls.ts"
import * as Reason from "./base/Reason.ts"

export interface Boundary<E, R> {
  readonly context: Context.Context<R>
  readonly crossing: (cause: unknown) => EnvironmentError
  readonly effect: <B>(
    part: string,
    effect: Effect.Effect<B, Unscorable | EnvironmentError | DefinitionFault | E, R>
  ) => Effect.Effect<B, EnvironmentError | Unscorable>
  readonly stream: <A, B>(
    part: string,
    stream: () => Stream.Stream<A, E, R>,
    each: (item: A) => B
  ) => Stream.Stream<B, EnvironmentError>
}

export const boundaryOf = <E, R>(name: string, built: Context.Context<R>): Boundary<E, R> => {
  // Without the span it was built in: rollouts have spans of their own. (No environment needs that one, so R is what it
  // was.)
  const context = Context.omit(Tracer.ParentSpan)(built) as Context.Context<R>
  const crossing = (cause: unknown): EnvironmentError =>
    cause instanceof EnvironmentError
      ? cause
      : new EnvironmentError({ environment: name, message: Reason.of(cause), cause })
  const logFault = DefinitionCalls.faultLogger(name)
  return {
    context,
    crossing,
    effect: (part, effect) =>
      DefinitionCalls.guarded(part, effect).pipe(
        Effect.provideContext(context),
        Effect.tapError(logFault),
        Effect.mapError((error) => (error instanceof Unscorable ? error : crossing(error)))
      ),
    stream: (part, stream, each) =>
      DefinitionCalls.streamed(part, stream, each).pipe(
        Stream.provideContext(context),
        Stream.tapError(logFault),
        Stream.mapError(crossing)
      )
  }
}
