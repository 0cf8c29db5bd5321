/**
 * Shared parts of judge, opponent and teacher: another model than the policy, with its own servers and limits, that an
 * environment may depend on.
 */
import { Effect, Layer, Schema } from "effect"
import { field } from "@atropos/core/base/Settings"
import { InferenceError } from "@atropos/core/inference/wire/Inference"
import * as NotConfigured from "@atropos/core/base/NotConfigured"
import * as ServerManager from "@atropos/core/inference/ServerManager"
import * as ServerSettings from "@atropos/core/inference/backend/ServerSettings"

const { apiKey, healthCheck, modelName, nKwargIsIgnored, numMaxRequestsAtOnce, timeout } = ServerSettings.serverFields

export { nKwargIsIgnored }

/** Settings of its servers: `--<role>.<field>`, and the map or list `<role>:` of a file. */
export const fields = (role: string, baseUrl: string) => ({
  baseUrl: field(Schema.String, "", baseUrl),
  apiKey,
  modelName,
  timeout,
  numMaxRequestsAtOnce: field(numMaxRequestsAtOnce, 64, `concurrent requests to the ${role}`),
  healthCheck
})

export interface SecondModel {
  readonly isConfigured: boolean
  readonly modelName: string
}

/** A role without a model: `required` fails, and so does every request of the placeholder. */
export const absent = (role: string, server: string) => {
  const missing = NotConfigured.make(
    role,
    `--${role}.base_url http://host:port/v1 --${role}.model_name NAME (${server}), or ${role}: in the file of --config`
  )
  return {
    required: <A extends SecondModel, R>(model: Effect.Effect<A, never, R>) =>
      Effect.filterOrFail(
        model,
        ({ isConfigured }) => isConfigured,
        () => missing
      ),
    none: { isConfigured: false, modelName: "none" },
    refuse: Effect.fail(new InferenceError({ reason: "noServer", server: role, message: missing.message }))
  }
}

/** Its own servers, not the policy's, and never trained on. */
export const servers = (manager: Partial<ServerSettings.Manager>, own: ReadonlyArray<Partial<ServerSettings.Server>>) =>
  Layer.fresh(ServerManager.layer({ ...manager, isTrainedOn: false, servers: own }))
