// The one place where Beast's compiled part lives (BOOST_BEAST_SEPARATE_COMPILATION).
#include <boost/beast/src.hpp>
