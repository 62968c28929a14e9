-- wrk: every request is a different question; as question() in load.py.
local models = {"llama-3.1-70b", "llama-3.1-8b", "qwen3-32b", "mixtral-8x7b-v0.1", "gemma-3-27b-it"}
local skus = {"h100-sxm-80gb", "h200-sxm-141gb", "a100-sxm-80gb", "mi300x-192gb", "b200-sxm-180gb"}
local shape = '{"model":"%s","sku":"%s","deployment":{"tensor_parallel":%d},"workload":{"input_tokens":%d,' ..
  '"output_tokens":%d,"concurrency":%d},"price":{"usd_per_gpu_hour":%d.%02d}}'
local number = os.time() % 1000000 * 1000
local headers = {["Content-Type"] = "application/json"}

request = function()
  number = number + 1
  local body = string.format(shape, models[number % #models + 1], skus[math.floor(number / 5) % #skus + 1],
    2 ^ (number % 3 + 1), 200 + number % 7919, 100 + number % 1009, 1 + number % 509, 1 + number % 7, number % 97)
  return wrk.format("POST", "/v1/plan", headers, body)
end
