-- wrk: fifty questions over and over.
local shape = '{"model":"llama-3.1-70b","sku":"h100-sxm-80gb","deployment":{"tensor_parallel":4},' ..
  '"workload":{"concurrency":%d}}'
local number = 0
local headers = {["Content-Type"] = "application/json"}

request = function()
  number = number + 1
  return wrk.format("POST", "/v1/plan", headers, string.format(shape, 1 + number % 50))
end
