/**
 * Runs the effects and streams of an environment's definition with the services it was built with. Throws become faults
 * of the part that threw; every other error becomes one that names the environment.
 */
import { Context, Effect, Stream, Tracer } from "effect"
import { type DefinitionFault, EnvironmentError, Unscorable } from "./EnvironmentError.ts"
import * as DefinitionCalls from "./UserCode.ts"
import * as Reason from "../base/Reason.ts"

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
  // Without the span of the build: rollouts have their own spans. (No environment requires the span, so R is
  // unchanged.)
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
