"""Sessions beyond this process: clients of masters, servers, workers. Only this room knows gRPC."""
