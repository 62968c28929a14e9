-- wrk: reads of catalogue entries.
local skus = {"h100-sxm-80gb", "h200-sxm-141gb", "a100-sxm-80gb", "mi300x-192gb", "b200-sxm-180gb"}
local number = 0

request = function()
  number = number + 1
  return wrk.format("GET", "/v1/skus/" .. skus[number % #skus + 1])
end
