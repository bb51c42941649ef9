#!/usr/bin/env escript
%% Prints tests/golden/phash2.tsv: what Erlang's own phash2/2 says of keys of every length and kind.
%%
%%   apt-get install erlang-base && escript tests/golden/make_phash2.escript > tests/golden/phash2.tsv
%%
%% The tests read the file only; nothing needs Erlang but this script. Keys are fixed by a generator
%% of its own, so that two runs give the same file.
-mode(compile).

main(_) ->
    Counts = [1, 3, 4, 7, 16, 100],
    io:format("# Made with Erlang/OTP ~s: erlang:phash2(Key, 1 bsl 32), then phash2(Key, N); Key is a binary.~n",
              [erlang:system_info(otp_release)]),
    io:format("# key (in hex)\tphash2 (32 bits)~s~n", [[io_lib:format("\tof ~p", [N]) || N <- Counts]]),
    lists:foreach(
      fun(Key) ->
              io:format("~s\t~p~s~n",
                        [hex(Key), erlang:phash2(Key, 1 bsl 32),
                         [io_lib:format("\t~p", [erlang:phash2(Key, N)]) || N <- Counts]])
      end, keys()).

hex(Key) -> [io_lib:format("~2.16.0b", [Byte]) || <<Byte>> <= Key].

keys() ->
    Named = [<<>>, <<"EUR-EURIBOR-6M">>, <<"USD-SOFR-3M">>, <<"orders">>, <<"a">>, <<0>>, <<255>>,
             <<0, 0>>, <<0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>>, <<"device/42/temperature">>,
             <<"Stra\303\237e">>, <<"\346\235\261\344\272\254">>, <<"\360\237\233\222">>],
    Counted = [integer_to_binary(N) || N <- [0, 7, 42, 99, 1000, 65535, 123456789]],
    Lengths = [random(Length, Length + 1) || Length <- lists:seq(1, 160)],
    Long = [random(Length, 7 * Length + 3) || Length <- [255, 256, 257, 1000, 1023, 4096]],
    Text = [list_to_binary(io_lib:format("customer-~p/order-~p", [N rem 7, N * N])) || N <- lists:seq(1, 40)],
    lists:usort(fun(A, B) -> {byte_size(A), A} =< {byte_size(B), B} end,
                Named ++ Counted ++ Lengths ++ Long ++ Text).

%% A linear congruential generator: bytes that are the same for ever.
random(Length, Seed) ->
    {Bytes, _} = lists:mapfoldl(
                   fun(_, X) -> Y = (X * 1103515245 + 12345) band 16#7fffffff, {(Y bsr 16) band 255, Y} end,
                   Seed, lists:seq(1, Length)),
    list_to_binary(Bytes).
