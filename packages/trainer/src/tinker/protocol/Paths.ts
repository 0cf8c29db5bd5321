/** Paths of the Tinker protocol's operations below the server's address. All are POST except those of `get`. */

export const root = "/api/v1"

export const post = {
  clientConfig: `${root}/client/config`,
  dynamicConfig: `${root}/client/dynamic_config`,
  createSession: `${root}/create_session`,
  heartbeat: `${root}/session_heartbeat`,
  telemetry: `${root}/telemetry`,
  createModel: `${root}/create_model`,
  getInfo: `${root}/get_info`,
  unloadModel: `${root}/unload_model`,
  forwardBackward: `${root}/forward_backward`,
  optimStep: `${root}/optim_step`,
  saveWeights: `${root}/save_weights`,
  loadWeights: `${root}/load_weights`,
  saveWeightsForSampler: `${root}/save_weights_for_sampler`,
  createSamplingSession: `${root}/create_sampling_session`,
  sample: `${root}/asample`,
  retrieveFuture: `${root}/retrieve_future`,
  retrieveFutures: `${root}/retrieve_futures`,
  cancelFuture: `${root}/cancel_future`,
  weightsInfo: `${root}/weights_info`
} as const

export const get = {
  health: `${root}/healthz`,
  capabilities: `${root}/get_server_capabilities`,
  trainingRuns: `${root}/training_runs`
} as const

/** Content type of binary bodies; requested for results of forward_backward and asample. */
export const binary = "application/x-protobuf"
