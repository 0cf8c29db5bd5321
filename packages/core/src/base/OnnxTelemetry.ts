/**
 * Keeps ONNX Runtime from reporting to its maker.
 *
 * From 1.29 on, its libraries for Linux and macOS report every process and model (names, hashes, timings) over HTTPS,
 * and keep a device identifier in the user's cache folder, unless a variable of the environment forbids it. It is read
 * once, when the library is loaded, and from the process's own environment: in a thread `process.env` is a copy, so
 * this is called before the thread is made. Source: microsoft/onnxruntime, pull request 27379.
 */

const variable = "ORT_DISABLE_TELEMETRY"

/** Does nothing where the user has set the variable, to whichever value. */
export const disable = (): void => {
  process.env[variable] ??= "1"
}
