/** Where the operations of the Tinker protocol are, below the server's address. All are POST but those of `get`. */

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

/** The content type of binary bodies; results of forward_backward and asample are asked for in it. */
export const binary = "application/x-protobuf"
