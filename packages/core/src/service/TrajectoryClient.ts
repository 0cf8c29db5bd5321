/**
 * Combines all clients of a trajectory service in one value, which each client layer implements. Callers take the
 * client they need from the context: `EnvironmentClient`, `TrainerClient`, `TelemetryClient`.
 *
 * Layers: over HTTP (`TrajectoryClientHttp`), in memory (`MemoryTrajectoryClient`), and in process without HTTP (in
 * `@atropos/api`).
 */
import { Context, Effect, Layer } from "effect"
import { EnvironmentClient, type EnvironmentClientShape } from "./EnvironmentClient.ts"
import { TelemetryClient, type TelemetryClientShape } from "./TelemetryClient.ts"
import { TrainerClient, type TrainerClientShape } from "./TrainerClient.ts"

export interface TrajectoryClient extends EnvironmentClientShape, TrainerClientShape, TelemetryClientShape {}

export type Clients = EnvironmentClient | TrainerClient | TelemetryClient

export const context = (client: TrajectoryClient): Context.Context<Clients> =>
  Context.make(EnvironmentClient, client).pipe(Context.add(TrainerClient, client), Context.add(TelemetryClient, client))

export const layer = <E, R>(make: Effect.Effect<TrajectoryClient, E, R>): Layer.Layer<Clients, E, R> =>
  Layer.effectContext(Effect.map(make, context))

/** All of them as one value, for callers with several roles. */
export const all: Effect.Effect<TrajectoryClient, never, Clients> = Effect.map(
  Effect.all([EnvironmentClient, TrainerClient, TelemetryClient]),
  ([environment, trainer, telemetry]) => ({ ...environment, ...trainer, ...telemetry })
)
