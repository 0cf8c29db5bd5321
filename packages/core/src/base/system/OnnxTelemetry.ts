/**
 * Keeps ONNX Runtime from sending telemetry.
 *
 * From 1.29 on, its libraries for Linux and macOS report every process and model (names, hashes, timings) over HTTPS,
 * and store a device identifier in the user's cache folder, unless an environment variable forbids it. It is read once,
 * when the library is loaded, and from the process's own environment: in a thread `process.env` is a copy, so this is
 * called before the thread is created. Source: microsoft/onnxruntime, pull request 27379.
 */

const variable = "ORT_DISABLE_TELEMETRY"

/** Does nothing if the user has set the variable to any value. */
export const disable = (): void => {
  process.env[variable] ??= "1"
}
